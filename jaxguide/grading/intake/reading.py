"""Find what a submission contains that matters for grading, as plain data.

Parsing can take time and memory without bounds, so the grader leaves this to a limited process, see
`jaxguide.grading.workers.reader`, and takes from it nothing but the names of the course and bounded text.
"""

import dataclasses
import difflib
import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jaxguide.code.sameness import given_in, meaning, starters_in_cells
from jaxguide.code.slices import global_names
from jaxguide.course.books.printer import printed_code
from jaxguide.course.verdict import ErrorInfo
from jaxguide.grading.intake.answer_runs import answer_runs
from jaxguide.grading.intake.elsewhere import alike, elsewhere
from jaxguide.grading.intake.late_settings import late_settings
from jaxguide.grading.intake.submission import (
    CODE_LIMIT,
    Submission,
    SubmittedCell,
    UnreadableSubmission,
    is_notebook,
    parse_submission,
    too_much_code,
)

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.books.library import Course

CLOSE = 0.8
_MAGICS_LIMIT, _MAGIC_LIMIT = 1_000, 300
# Names longer than this are not misspelled names of exercises.
_NAME_LIMIT, _NAMES_LIMIT = 100, 200


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
        names: lesson -> the names of its exercises.
        stubs: the exercises.
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
class ReadCell:
    """One code cell.

    Args:
        number: its number among the file's code cells, from 1.
        label: its name in reports: 'code cell 3', or 'line 12' of a Python file.
        source: its Python, in which shell lines and magics do nothing; '' if it does not run.
        magics: the shell lines and magics.
        error: the syntax error, if there is one.
        rejected: a sentence that says why Python cannot even parse it, '' if it can.
        is_empty: whether it contains no statement.
        is_printed: whether it is as printed in a lesson.
        defines: the exercises whose names its statements bind, as far as they are known.
        starters: those of them that are still the printed stub.
        reads: the names among those that books define that it reads.
        late_settings: the environment variables that it sets in vain, see `late_settings`.
    """

    number: int
    label: str
    source: str
    magics: list[str]
    error: ErrorInfo | None
    rejected: str
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
        cells: its code cells.
        lessons: the lessons that it answers, see `lessons_of`.
        topics: the course's lessons that it names with `start("topic")`.
        misspelled: exercise -> a name that the file defines instead, for exercises that it does not define.
        close: a name that the file defines and that is close to an exercise's, with that exercise, or nothing.
        runs: exercise -> the hashes that identify its answer, see `answer_runs`.
        elsewhere: exercise -> a sentence that says where its function is although the file does not define it.
        alike: exercise -> a function with the same parameters, for exercises that the file does not define.
        dropped: the exercises that it defines and that the course no longer has: it is of an earlier edition.
        other_course: the identity of the course that it was started for, '' if that is this one or not known.
        may_await: whether its cells may await outside of functions.
    """

    cells: list[ReadCell]
    lessons: list[str]
    topics: list[str]
    misspelled: dict[str, str]
    close: list[str]
    runs: dict[str, list[int]]
    elsewhere: dict[str, str]
    alike: dict[str, str]
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
        raise UnreadableSubmission(too_much_code())
    lessons = lessons_of(submission, course.names)
    stubs = {stub.name: stub for stub in course.stubs}
    given, as_printed = frozenset(course.given), frozenset(course.printed)
    starters, apart = starters_in_cells([cell.tree for cell in submission.cells], stubs)
    printed = [
        cell.tree is not None and printed_digest(cell.source) in as_printed and not cell.defines & apart
        for cell in submission.cells
    ]
    cells = [
        _cell(cell, stubs, given, one, found)
        for cell, one, found in zip(submission.cells, printed, starters, strict=True)
    ]
    if sum(len(cell.magics) for cell in cells) > _MAGICS_LIMIT:
        raise UnreadableSubmission(f"The file contains more than {_MAGICS_LIMIT} magics.")
    defined = frozenset[str]().union(*(cell.defines for cell in submission.cells))
    unknown = defined - stubs.keys() - course.dropped.keys()
    others = sorted(one for one in unknown if len(one) <= _NAME_LIMIT)[:_NAMES_LIMIT]
    asked = [stubs[name] for topic in lessons for name in course.names[topic]]
    absent = [stub for stub in asked or stubs.values() if stub.name not in defined]
    own = dataclasses.replace(
        submission, cells=[one for one, cell in zip(submission.cells, cells, strict=True) if not cell.is_printed]
    )
    return ReadSubmission(
        cells,
        lessons,
        [topic for topic in dict.fromkeys(submission.topics()) if topic in course.names],
        _misspelled([stub.name for stub in absent if lessons], others),
        [] if lessons else _close(others, list(stubs)),
        {stub.name: runs for stub in asked if (runs := answer_runs(submission, stub))},
        elsewhere(own, absent),
        alike(own, absent, set(stubs) | given | course.dropped.keys()),
        sorted(defined & course.dropped.keys()),
        _other_course(submission, course.identity),
        is_notebook(Path(name)),
    )


def _other_course(submission: Submission, identity: str) -> str:
    named = [course for _topic, course in submission.starts() if course]
    return "" if identity in named else "".join(named[:1])[:_NAME_LIMIT]


def lessons_of(submission: Submission, names: Mapping[str, Collection[str]]) -> list[str]:
    """Return the lessons that a submission answers: by its definitions, else by its `start` calls, else by its name.

    Args:
        submission: the submission.
        names: lesson -> the names of its exercises.
    """
    defined = frozenset[str]().union(*(cell.defines for cell in submission.cells))
    found = [topic for topic, exercises in names.items() if not defined.isdisjoint(exercises)]
    if not found:
        found = [topic for topic in dict.fromkeys(submission.topics()) if topic in names]
    if not found:
        found = [topic for topic in names if topic in submission.path.stem]
    return found


def _cell(
    cell: SubmittedCell, stubs: Mapping[str, Stub], given: frozenset[str], is_printed: bool, starters: set[str]
) -> ReadCell:
    is_empty = cell.tree is not None and not cell.tree.body
    is_printed = is_printed and not is_empty
    # A cell that Python cannot read may contain code of an exercise whose function is in another cell.
    defines = {name for name, one in stubs.items() if cell.tree is None and cell.defines & given_in(one).names}
    runs = cell.tree is not None and not is_empty and not is_printed
    return ReadCell(
        number=cell.number,
        label=cell.label,
        source=cell.source if runs else "",
        magics=[line[:_MAGIC_LIMIT] for line in cell.magics],
        error=cell.error,
        rejected=cell.rejected,
        is_empty=is_empty,
        is_printed=is_printed,
        defines=sorted(defines | (cell.defines & stubs.keys())),
        starters=sorted(starters) if runs else [],
        reads=sorted(_reads(cell.source) & given) if runs else [],
        late_settings=late_settings(cell) if runs else [],
    )


def _reads(source: str) -> frozenset[str]:
    try:
        return global_names(source)
    except (SyntaxError, ValueError, RecursionError):  # `return` at top level is only found when a cell is compiled
        return frozenset()


def _misspelled(absent: Iterable[str], others: list[str]) -> dict[str, str]:
    found = {name: difflib.get_close_matches(name, others, n=1, cutoff=CLOSE) for name in absent}
    return {name: close[0] for name, close in found.items() if close}


def _close(others: Iterable[str], names: list[str]) -> list[str]:
    for other in others:
        close = difflib.get_close_matches(other.casefold(), names, n=1, cutoff=CLOSE)
        if close:
            return [other, close[0]]
    return []
