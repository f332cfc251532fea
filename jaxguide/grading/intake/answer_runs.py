"""Describe an answer by the runs of words in its syntax tree, so that near-identical answers can be found."""

import ast
import functools
import hashlib
from collections.abc import Sequence

from jaxguide.code.sameness import HasStarter
from jaxguide.code.slices import bound_names
from jaxguide.grading.intake.submission import Submission

MOST_RUNS = 128
_RUN_LENGTH = 3
_LEAST_RUNS = 25
_UNSAID = ("annotation", "returns", "type_comment", "ctx", "kind")


def answer_runs(submission: Submission, exercise: HasStarter) -> list[int]:
    """Return the fingerprint of an answer in a submission; none of a very short answer or an unchanged starter.

    It is the set of hashes of all runs of 3 words in the syntax tree of the answer and of the student's functions that
    it calls. It ignores names of locals, comments, docstrings, annotations and layout.
    """
    own = [node for cell in submission.cells if cell.tree for node in cell.tree.body]
    own = [node for node in own if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign)]
    try:
        runs = _runs(exercise.name, own)
        if len(runs) >= _LEAST_RUNS and runs != _starter_runs(exercise.name, exercise.starter_source):
            return sorted(runs)[:MOST_RUNS]
    except RecursionError:  # nested too deeply to be walked
        pass
    return []


@functools.lru_cache(maxsize=1024)
def _starter_runs(name: str, source: str) -> set[int]:
    return _runs(name, ast.parse(source).body)


def _runs(name: str, statements: Sequence[ast.stmt]) -> set[int]:
    gathered = _with_helpers(name, statements)
    own = frozenset(bound for node in gathered for bound in bound_names(node))
    words = [word for node in gathered for word in _words(node, own)]
    runs = (" ".join(words[i : i + _RUN_LENGTH]) for i in range(len(words) - _RUN_LENGTH + 1))
    return {int.from_bytes(hashlib.blake2b(run.encode("utf-8", "replace"), digest_size=6).digest()) for run in runs}


def _with_helpers(name: str, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the last statement that binds a name, then the statements that bind the names it reads."""
    binding: dict[str, ast.stmt] = {bound: node for node in statements for bound in bound_names(node)}
    found: list[ast.stmt] = []
    waiting = [name]
    while waiting:
        node = binding.pop(waiting.pop(0), None)
        if node is not None and node not in found:
            found.append(node)
            waiting += dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return found


def _words(statement: ast.stmt, own: frozenset[str]) -> list[str]:
    """Return a word for each node of a statement's tree, from the root down.

    Names that the statement binds are replaced by numbers, in the order in which they appear; `own` names, those of the
    answer and its helpers, by the same word.
    """
    bound = set(own)
    for part in ast.walk(statement):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            bound.add(part.id)
        elif isinstance(part, ast.arg | ast.FunctionDef | ast.ClassDef):
            bound.add(part.arg if isinstance(part, ast.arg) else part.name)
    numbers = dict.fromkeys(own, "own")
    words: list[str] = []
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # such as a docstring
            continue
        fields = [value for name, value in ast.iter_fields(node) if name not in _UNSAID]
        said = [one for one in fields if isinstance(one, str)]
        if isinstance(node, ast.Constant):
            said = [repr(node.value)]
        elif not isinstance(node, ast.keyword | ast.Attribute):
            said = [numbers.setdefault(one, f"#{len(numbers) - len(own)}") if one in bound else one for one in said]
        words.append(":".join([type(node).__name__, *said]))
        children = [child for value in fields for child in (value if isinstance(value, list) else [value])]
        waiting += reversed([child for child in children if isinstance(child, ast.AST)])
    return words
