"""Find near-identical answers in a class, as information for the instructor, never as a verdict."""

import ast
import collections
import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxguide.base.text import _
from jaxguide.code.slices import bound_names
from jaxguide.course.books.book import Book
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.submission import Submission

ALIKE_FROM = 0.8
_RUN_LENGTH = 3
_LEAST_RUNS = 25
_MOST_RUNS = 128
# With fewer answers, it is not clear which ones are common.
_SMALL_CLASS = 5


@dataclasses.dataclass(frozen=True)
class SimilarGroup:
    """Students whose answers to one exercise are near-identical.

    Args:
        exercise: the exercise's name.
        students: two or more names, sorted.
        share: the lowest overlap among the similar pairs that form the group, from 0 to 1.
        says: `share` in words.
    """

    exercise: str
    students: list[str]
    share: float
    says: str


def fingerprints(submission: Submission, book: Book) -> dict[str, list[int]]:
    """Return a fingerprint of each answer in a submission, except for very short answers and unchanged starters.

    A fingerprint is the set of hashes of all runs of 3 words in the syntax tree of the answer and of the student's
    functions that it calls. It ignores names of locals, comments, docstrings, annotations and layout.
    """
    own = [node for cell in submission.cells if cell.tree for node in cell.tree.body]
    own = [node for node in own if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign)]
    found = {}
    for exercise in book.exercises:
        try:
            runs = _runs(exercise.name, own)
            if len(runs) >= _LEAST_RUNS and runs != _starter_runs(exercise.name, exercise.starter_source):
                found[exercise.name] = sorted(runs)[:_MOST_RUNS]
        except RecursionError:  # nested too deeply to be walked
            continue
    return found


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


def similar_groups(submissions: Iterable[SubmissionResult]) -> list[SimilarGroup]:
    """Return the groups of near-identical answers to each exercise, the most similar first.

    If 5 or more students answered an exercise, answers shared by more than half of them are common and not reported.
    """
    answers: dict[str, dict[str, frozenset[int]]] = {}
    for one in submissions:
        for exercise, runs in one.fingerprints.items():
            answers.setdefault(exercise, {})[one.student] = frozenset(runs)
    found = [group for exercise, own in answers.items() for group in _groups(exercise, own)]
    return sorted(found, key=lambda group: (-group.share, group.exercise, group.students))


def _groups(exercise: str, answers: Mapping[str, frozenset[int]]) -> Iterator[SimilarGroup]:
    equal: dict[frozenset[int], list[str]] = {}
    for student, runs in answers.items():
        equal.setdefault(runs, []).append(student)
    most = len(answers) / 2 if len(answers) >= _SMALL_CLASS else len(answers)
    usual = {runs for runs, students in equal.items() if len(students) > most}
    different = [runs for runs in equal if runs not in usual]
    joined = list(range(len(different)))
    shares: dict[int, float] = {}

    def root(number: int) -> int:
        while joined[number] != number:
            number = joined[number]
        return number

    for first, second, share in _alike(different):
        low, high = sorted((root(first), root(second)))
        joined[high] = low
        shares[low] = min(share, shares.get(low, 1.0), shares.get(high, 1.0))
    members: dict[int, list[str]] = {}
    for number, runs in enumerate(different):
        members.setdefault(root(number), []).extend(equal[runs])
    for number, students in members.items():
        if 2 <= len(students) <= most:
            share = round(shares.get(number, 1.0), 2)
            says = _("identical") if share == 1 else _("{percent} % in common").format(percent=int(100 * share))
            yield SimilarGroup(exercise, sorted(students), share, says)


def _alike(answers: Sequence[frozenset[int]]) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of answers that overlap enough, with their overlap.

    Two sets that overlap this much share at least one of the rarest runs of each, so only those are looked up. A class
    of a thousand is compared in seconds.
    """
    count = collections.Counter(run for runs in answers for run in runs)
    having: dict[int, list[int]] = {}
    for number, runs in enumerate(answers):
        rarest = sorted(runs, key=lambda run: (count[run], run))
        looked_up = rarest[: len(runs) - int(ALIKE_FROM * len(runs)) + 1]
        for other in sorted({other for run in looked_up for other in having.get(run, ())}):
            share = len(runs & answers[other]) / len(runs | answers[other])
            if share >= ALIKE_FROM:
                yield other, number, share
        for run in looked_up:
            having.setdefault(run, []).append(number)
