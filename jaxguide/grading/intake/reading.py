"""Find what a submission contains that matters for grading, as plain data.

Parsing can take time and memory without bounds, so the grader leaves this to a limited process, see
`jaxguide.grading.workers.reader`, and takes from it nothing but the names of the course and bounded text.
"""

import ast
import contextlib
import dataclasses
import difflib
import functools
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxguide.code.as_ipython import UNREADABLE
from jaxguide.code.sameness import HasStarter, given_in, meaning, starters_in_cells
from jaxguide.code.slices import bound_names, global_names
from jaxguide.course.books.printer import printed_code
from jaxguide.grading.intake.submission import (
    CODE_LIMIT,
    TOO_MUCH_CODE,
    CodeCell,
    Submission,
    SubmittedCell,
    UnreadableSubmission,
    is_notebook,
    parse_submission,
    seen_definitions,
)

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.books.library import Course

MOST_RUNS = 128
_RUN_LENGTH = 3
_LEAST_RUNS = 25
_UNSAID = ("annotation", "returns", "type_comment", "ctx", "kind")
CLOSE = 0.8
_MAGICS_LIMIT, _MAGIC_LIMIT = 1_000, 300
# Names longer than this are not misspelled names of exercises.
_NAME_LIMIT, _NAMES_LIMIT = 100, 200
_READ_AT_START = re.compile(r"(JAX|XLA)_\w{1,100}|CUDA_VISIBLE_DEVICES|LIBTPU_INIT_ARGS")
_SETTINGS_LIMIT = 20
_ENV_MAGIC = re.compile(r"%(?:set_)?env\s+(\w+)(?:\s*=|\s+\S)")
_COMMENT = re.compile(r"^[ \t]*#[ \t]?", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Stub:
    """An exercise's name, printed stub and printed cell."""

    name: str
    starter_source: str
    cell_source: str


@dataclasses.dataclass(frozen=True)
class CourseText:
    """What reading a submission needs of a course, all of which students see, as plain data.

    Args:
        given: the names that books define for answers.
        printed: a digest of each code cell of the printed lessons.
        identity: the course's identity, by which its notebooks start it.
        dropped: the exercises that it no longer has, see `CourseSettings`.
    """

    names: dict[str, list[str]]
    stubs: tuple[Stub, ...]
    given: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()
    identity: str = ""
    dropped: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, course: "Course") -> "CourseText":
        """Return what students see of a course."""
        books = course.books.values()
        return cls(
            {book.topic: [exercise.name for exercise in book.exercises] for book in books},
            tuple(Stub(e.name, e.starter_source, e.cell_source) for book in books for e in book.exercises),
            tuple({name: None for book in books for statement in book.given for name in statement.binds}),
            tuple({printed_digest(source): None for book in books for source in printed_code(book)}),
            course.identity,
            dict(course.settings.dropped),
        )


def printed_digest(source: str) -> str:
    """Return a digest that is equal for code that means the same.

    >>> printed_digest("x   = 1") == printed_digest("x = 1  # one")
    True
    """
    return hashlib.sha256(meaning(source).encode("utf-8", "backslashreplace")).hexdigest()


@dataclasses.dataclass(frozen=True)
class ReadCell(CodeCell):
    """One code cell, whose source is '' if it does not run.

    Args:
        defines: the exercises whose names its statements bind, as far as they are known.
        starters: those of them that are still the printed stub.
        reads: the names among those that books define that it reads.
        late_settings: the environment variables that it sets in vain, see `late_settings`.
    """

    is_empty: bool
    is_printed: bool
    defines: list[str]
    starters: list[str]
    reads: list[str]
    late_settings: list[str]

    @property
    def runs(self) -> bool:
        """Whether the cell runs when the submission is graded."""
        return not (self.rejected or self.error is not None or self.is_empty or self.is_printed)


@dataclasses.dataclass(frozen=True)
class ReadSubmission:
    """The code cells of one file, and what they answer.

    Args:
        topics: the course's lessons that it names with `start("topic")`.
        missing: exercise -> a sentence that says why its function is missing, unless it was not attempted.
        no_exercise: why the file answers no exercise, '' if it answers one.
        is_close: whether it answers none, but defines a function with a similar name.
        runs: exercise -> the hashes that identify its answer, see `answer_runs`.
        dropped: the exercises that it defines and that the course no longer has: it is of an earlier edition.
        other_course: the identity of the course that it was started for, '' if that is this one or not known.
    """

    cells: list[ReadCell]
    lessons: list[str]
    topics: list[str]
    missing: dict[str, str]
    no_exercise: str
    is_close: bool
    runs: dict[str, list[int]]
    dropped: list[str]
    other_course: str
    may_await: bool

    @property
    def defined(self) -> frozenset[str]:
        """The exercises that the file defines."""
        return frozenset(name for cell in self.cells for name in cell.defines)

    @property
    def is_python(self) -> bool:
        """Whether Python can read every cell."""
        return all(cell.error is None and not cell.rejected for cell in self.cells)


def read_content(name: str, content: bytes, course: CourseText) -> ReadSubmission:
    """Read a file of this name and content.

    Raises:
        UnreadableSubmission: the file is not a notebook, is not text, or contains no code, or too much.
    """
    submission = parse_submission(Path(name), content)
    if sum(len(cell.source.lstrip("\n")) for cell in submission.cells) > CODE_LIMIT:
        raise UnreadableSubmission(TOO_MUCH_CODE)
    lessons = lessons_of(submission, course.names)
    stubs = {stub.name: stub for stub in course.stubs}
    given, printed = frozenset(course.given), frozenset(course.printed)
    starters, apart = starters_in_cells([cell.tree for cell in submission.cells], stubs)
    cells = [
        _cell(cell, stubs, given, printed if cell.defines.isdisjoint(apart) else frozenset(), own)
        for cell, own in zip(submission.cells, starters, strict=True)
    ]
    if sum(len(cell.magics) for cell in cells) > _MAGICS_LIMIT:
        raise UnreadableSubmission(f"The file contains more than {_MAGICS_LIMIT} magics.")
    defined = frozenset[str]().union(*(cell.defines for cell in submission.cells))
    asked = [stubs[name] for topic in lessons for name in course.names[topic]]
    absent = [stub for stub in asked or stubs.values() if stub.name not in defined]
    own_cells = [one for one, cell in zip(submission.cells, cells, strict=True) if not cell.is_printed]
    own = dataclasses.replace(submission, cells=own_cells)
    others = sorted(one for one in defined - {*stubs, *course.dropped} if len(one) <= _NAME_LIMIT)[:_NAMES_LIMIT]
    as_written = {one.casefold(): one for one in others}
    close = {one.name: difflib.get_close_matches(one.name.casefold(), as_written, 1, CLOSE) for one in absent}
    hints = _Hints(
        _elsewhere(own, absent),
        {name: as_written[found[0]] for name, found in close.items() if found},
        _alike(own, absent, {*stubs, *given, *course.dropped}),
    )
    topics = [topic for topic in dict.fromkeys(submission.topics()) if topic in course.names]
    dropped = sorted(defined & course.dropped.keys())
    seen = {name for cell in cells for name in cell.defines}
    missing = {
        # The lesson's own file, if it is not of an earlier edition, once had all functions.
        name: hints.why_missing(name, topic in topics and not dropped)
        for topic in lessons
        for name in course.names[topic]
        if name not in seen
    }
    named = [identity for _topic, identity in submission.starts() if identity]
    return ReadSubmission(
        cells,
        lessons,
        topics,
        {name: why for name, why in missing.items() if why},
        "" if lessons else hints.why_no_exercise(cells),
        not lessons and bool(hints.misspelled),
        {stub.name: runs for stub in asked if (runs := answer_runs(submission, stub))},
        dropped,
        "" if course.identity in named else "".join(named[:1])[:_NAME_LIMIT],
        is_notebook(Path(name)),
    )


class _Hints(NamedTuple):
    """Where the functions that a file does not define may be: exercise -> a sentence, a similar name, a function."""

    elsewhere: dict[str, str]
    misspelled: dict[str, str]
    alike: dict[str, str]

    def why_missing(self, name: str, is_lesson: bool) -> str:
        """Return why a function is missing: it is elsewhere, renamed or deleted; or '' if it was not attempted."""
        said = f"Your file has no function `{name}`"
        if name in self.elsewhere:
            return self.elsewhere[name]
        if name in self.misspelled:
            return f"{said}, but a similar `{self.misspelled[name]}`. Give it the exercise's name."
        if is_lesson and name in self.alike:
            return f"{said}, but `{self.alike[name]}` has its parameters. Was it renamed?"
        return f"{said}. Was its cell deleted, the function renamed, or is the file old?" if is_lesson else ""

    def why_no_exercise(self, cells: Iterable[ReadCell]) -> str:
        """Return why a file with these cells answers no exercise."""
        said = "The file does not answer any exercise of this course."
        if self.elsewhere:
            return f"{said} {next(iter(self.elsewhere.values()))}"
        if self.misspelled or len(self.alike) == 1:
            name, other = next(iter((self.misspelled or self.alike).items()))
            said += f" It defines `{other}`: is that the answer to `{name}`? Give it the exercise's name."
        broken = next((cell for cell in cells if cell.error is not None or cell.rejected), None)
        if broken is None:
            return said
        why = broken.rejected
        if broken.error is not None:
            why = f"{broken.error.message[:_MAGIC_LIMIT]} (line {broken.error.line or '?'})."
        return f"{said} At {broken.label}: {why}"


def lessons_of(submission: Submission, names: Mapping[str, Collection[str]]) -> list[str]:
    """Return the lessons that a submission answers: by its definitions, else by its `start` calls, else by its name."""
    defined = frozenset[str]().union(*(cell.defines for cell in submission.cells))
    return (
        [topic for topic, exercises in names.items() if not defined.isdisjoint(exercises)]
        or [topic for topic in dict.fromkeys(submission.topics()) if topic in names]
        or [topic for topic in names if topic in submission.path.stem]
    )


def _cell(
    cell: SubmittedCell, stubs: Mapping[str, Stub], given: frozenset[str], printed: Collection[str], starters: set[str]
) -> ReadCell:
    is_empty = cell.tree is not None and not cell.tree.body
    is_printed = cell.tree is not None and not is_empty and printed_digest(cell.source) in printed
    # A cell that Python cannot read may contain code of an exercise whose function is in another cell.
    defines = {name for name, one in stubs.items() if cell.tree is None and cell.defines & given_in(one).names}
    runs = cell.tree is not None and not is_empty and not is_printed
    reads = frozenset[str]()
    with contextlib.suppress(*UNREADABLE):  # `return` at top level is only found when a cell is compiled
        reads = global_names(cell.source) if runs else reads
    return ReadCell(
        cell.number,
        cell.label,
        cell.source if runs else "",
        [line[:_MAGIC_LIMIT] for line in cell.magics],
        cell.error,
        cell.rejected,
        is_empty,
        is_printed,
        defines=sorted(defines | (cell.defines & stubs.keys())),
        starters=sorted(starters) if runs else [],
        reads=sorted(reads & given),
        late_settings=late_settings(cell) if runs else [],
    )


def late_settings(cell: SubmittedCell) -> list[str]:
    """Return the variables that a cell sets although JAX has read them already."""
    names = [name for node in ast.walk(cell.tree) for name in _names_set(node)] if cell.tree is not None else []
    names += [match[1] for line in cell.magics if (match := _ENV_MAGIC.match(line))]
    return [name for name in dict.fromkeys(names) if _READ_AT_START.fullmatch(name)][:_SETTINGS_LIMIT]


def _names_set(node: ast.AST) -> Iterator[str]:
    """Yield the keys that a node sets in `os.environ` or any dict: no other has such keys."""
    keys: list[ast.expr | None] = []
    match node:
        case ast.Subscript(slice=key, ctx=ast.Store()):
            keys = [key]
        case ast.AugAssign(value=ast.Dict(keys=keys)):
            pass
        case ast.Call(func=ast.Attribute(attr="setdefault" | "putenv"), args=[key, *_]):
            keys = [key]
        case ast.Call(func=ast.Attribute(attr="update"), args=args, keywords=keywords):
            keys = [key for given in args if isinstance(given, ast.Dict) for key in given.keys]
            yield from (keyword.arg for keyword in keywords if keyword.arg)
    yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _elsewhere(submission: Submission, absent: Iterable[Stub]) -> dict[str, str]:
    """Return a sentence for each of the exercises that a file does not define but whose function is in it."""
    places = list(_places(submission))
    said = {one.name: next((said for said, names in places if one.name in names), "") for one in absent}
    return {name: f"`{name}` is {why}" for name, why in said.items() if why}


def _places(submission: Submission) -> Iterator[tuple[str, Collection[str]]]:
    """Yield each place that defines nothing, with what to do, and the names of what is there."""
    for kind, source in submission.other_cells:
        kind = "Markdown" if kind == "markdown" else "raw"
        yield f"in a {kind} cell, which does not run. Turn it into a code cell.", seen_definitions(source)
    for cell in submission.cells:
        for magic, text in cell.not_python:
            shown = magic[:_NAME_LIMIT]
            why = f"below `{shown}` in {cell.label}, which is not run as Python. Delete `{shown}`."
            yield why, seen_definitions(text)
        for outer in ast.walk(cell.tree) if cell.tree is not None else ():
            if isinstance(outer, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                inner = {n.name for n in ast.walk(outer) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
                place = f"inside `{outer.name[:_NAME_LIMIT]}` in {cell.label}"
                yield f"{place}. Define it at the beginning of a line.", inner - {outer.name}
    for cell in submission.cells:
        comments = "\n".join(line for line in cell.source.split("\n") if _COMMENT.match(line))
        why = f"in a comment in {cell.label}, which does not run. Delete the `#` of its lines."
        yield why, seen_definitions(_COMMENT.sub("", comments))


def _alike(submission: Submission, absent: Iterable[Stub], known: Collection[str]) -> dict[str, str]:
    """Return a function with the same parameters, whose name is not `known`, for each exercise that a file lacks."""
    nodes = [node for cell in submission.cells if cell.tree is not None for node in cell.tree.body]
    functions = {parameters: name for name, parameters in map(_signature, nodes) if parameters and name not in known}
    wanted = {one.name: _signature(ast.parse(one.starter_source).body[-1])[1] for one in absent}
    return {name: functions[parameters] for name, parameters in wanted.items() if parameters in functions}


def _signature(node: ast.stmt) -> tuple[str, tuple[str, ...]]:
    """Return a function's name and parameters; none if it is not one whose name can be that of an answer."""
    if not isinstance(node, ast.FunctionDef) or len(node.name) > _NAME_LIMIT:
        return "", ()
    return node.name, tuple(part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg))


# Describe an answer by the runs of words in its syntax tree, so that near-identical answers can be found.


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
