"""Tabulate the marks of a batch: one row per student, one column per exercise, and None for a missing mark."""

import dataclasses
from collections.abc import Iterable, Sequence

from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.instructor_tables import Override
from jaxguide.grading.intake.student_names import name_key

NOT_GRADED = "not graded"
NOT_HANDED_IN = "not handed in"
NOT_READABLE = "not readable"
GIVEN = "given by hand"


@dataclasses.dataclass(frozen=True)
class Column:
    """One exercise of the batch."""

    name: str
    title: str
    lesson: str
    points: float


@dataclasses.dataclass(frozen=True)
class Mark:
    """One student's mark for one exercise.

    Args:
        column: the exercise.
        score: the points that count, or None if there is no mark, which is not the same as 0.
        said: the verdict in words, 'not graded', 'not handed in', 'not readable' if an unreadable file may contain the
            answer, or 'given by hand' if the instructor's points are the only ones.
        result: the grader's result, or None if nothing was handed in.
        override: the instructor's points, or None if the grader's count.
    """

    column: Column
    score: float | None
    said: str
    result: ExerciseResult | None = None
    override: Override | None = None

    @property
    def is_missing(self) -> bool:
        """Whether the answer may exist but has no mark."""
        return self.score is None and self.said in (NOT_GRADED, NOT_READABLE)


@dataclasses.dataclass(frozen=True)
class Row:
    """All marks of one student.

    Args:
        student: the student's name.
        state: the state of the student's submissions.
        submissions: the files that count; for an absent student, a placeholder without a file.
        marks: one for each exercise of the batch, by name.
        score: the sum of the marks, or None if a mark is missing or nothing could be graded.
        points: the maximum score.
        ids: kind -> id by which a learning platform knows the student.
    """

    student: str
    state: State
    submissions: tuple[SubmissionResult, ...]
    marks: dict[str, Mark]
    score: float | None
    points: float
    ids: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def share(self) -> float | None:
        """The score divided by the points, from 0 to 1."""
        return None if self.score is None or not self.points else self.score / self.points


def columns_of(batch: BatchResult) -> list[Column]:
    """Return the exercises that at least one file was graded on: by lesson, then in the lesson's order."""
    found: dict[str, Column] = {}
    for one in (one for submission in batch.counted for one in submission.results):
        found.setdefault(one.name, Column(one.name, one.title, one.lesson, one.points))
    return sorted(found.values(), key=lambda column: column.lesson)


def rows_of(batch: BatchResult) -> list[Row]:
    """Return one row per student, in the batch's order."""
    columns = columns_of(batch)
    overrides = {(name_key(one.student), one.exercise): one for one in batch.overrides}
    files: dict[str, list[SubmissionResult]] = {}
    for one in batch.counted:
        files.setdefault(one.student, []).append(one)
    rows = (_row(student, tuple(theirs), columns, overrides) for student, theirs in files.items())
    return [dataclasses.replace(row, ids=batch.ids.get(row.student, {})) for row in rows]


def _row(
    student: str,
    submissions: tuple[SubmissionResult, ...],
    columns: Iterable[Column],
    overrides: dict[tuple[str, str], Override],
) -> Row:
    marks = {c.name: _mark(c, submissions, overrides.get((name_key(student), c.name))) for c in columns}
    given = [mark.score for mark in marks.values() if mark.score is not None]
    missing = {mark.said for mark in marks.values() if mark.is_missing}
    state = _state(submissions, missing)
    score = round(sum(given), 2) if given and not missing else None
    return Row(student, state, submissions, marks, score, sum(mark.column.points for mark in marks.values()))


def _mark(column: Column, submissions: Sequence[SubmissionResult], override: Override | None) -> Mark:
    score, said, result = None, NOT_HANDED_IN, None
    for submission in submissions:
        for one in submission.results:
            if one.name == column.name:
                score, said, result = one.score, one.verdict.value, one
                if one.name in submission.not_graded or one.verdict is Verdict.NOT_CHECKED:
                    score, said = None, NOT_GRADED
        if result is None and "" in submission.not_graded:
            said = NOT_GRADED
    if said == NOT_HANDED_IN and any(submission.unreadable is not None for submission in submissions):
        # The answer may be in that file; "not handed in" would turn it into 0.
        said = NOT_READABLE
    if override is None:
        return Mark(column, score, said, result)
    if result is None or result.verdict is Verdict.NOT_CHECKED:
        said = GIVEN
    return Mark(column, override.points, said, result, override)


def _state(submissions: tuple[SubmissionResult, ...], missing: set[str]) -> State:
    states = {one.state for one in submissions}
    if NOT_GRADED in missing or (State.NOT_GRADED in states and not any(one.results for one in submissions)):
        return State.NOT_GRADED
    if missing:
        return State.UNREADABLE
    return next((state for state in (State.GRADED, State.UNREADABLE, State.ABSENT) if state in states), State.GRADED)
