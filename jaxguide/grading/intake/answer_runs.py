"""Describe an answer by the runs of words in its syntax tree, so that near-identical answers can be found."""

import ast
import functools
import hashlib
from collections.abc import Iterator, Sequence

from jaxguide.code.sameness import HasStarter
from jaxguide.code.slices import bound_names
from jaxguide.grading.intake.submission import Submission

MOST_RUNS = 128
_RUN_LENGTH = 3
_LEAST_RUNS = 25


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
            reads = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
            waiting += dict.fromkeys(reads)
    return found


def _words(statement: ast.stmt, own: frozenset[str]) -> Iterator[str]:
    """Yield a word for each node of a statement's tree, from the root down.

    Names that the statement binds are replaced by numbers, in the order in which they appear.

    Args:
        statement: the code.
        own: the names of the answer and its helpers, which are all replaced by the same word.
    """
    parts = list(ast.walk(statement))
    bound = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    bound |= {part.arg for part in parts if isinstance(part, ast.arg)}
    bound |= {part.name for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef)}
    places: dict[str, str] = {}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr_context) or _is_docstring(node):
            continue
        called = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None)
        if isinstance(node, ast.keyword):
            pass
        elif called in own:
            called = "own"
        elif called in bound:
            called = places.setdefault(str(called), f"#{len(places)}")
        word = type(node).__name__
        if isinstance(node, ast.Constant):
            word += f":{node.value!r}"
        elif isinstance(node, ast.Attribute):
            word += f":{node.attr}"
        elif called is not None:
            word += f":{called}"
        yield word
        said = ("annotation", "returns", "type_comment")
        children: list[ast.AST] = []
        for field, value in ast.iter_fields(node):
            if field not in said:
                values = value if isinstance(value, list) else [value]
                children += [child for child in values if isinstance(child, ast.AST)]
        waiting += reversed(children)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
