"""Tabulate the marks of a batch: one row per student, one column per exercise, and None for a missing mark."""

import dataclasses
from collections.abc import Collection, Sequence

from jaxguide.base.text import plural
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
class Mark:
    """One student's mark for one exercise, of which `column` is some result.

    Args:
        score: the points that count, or None if there is no mark, which is not the same as 0.
        said: the verdict in words, 'not graded', 'not handed in', 'not readable' if an unreadable file may contain the
            answer, or 'given by hand' if the instructor's points are the only ones.
    """

    column: ExerciseResult
    score: float | None
    said: str
    result: ExerciseResult | None = None
    override: Override | None = None

    @property
    def lost(self) -> float:
        """The points that it lacks."""
        return self.column.points - (self.score or 0)

    @property
    def is_missing(self) -> bool:
        """Whether the answer may exist but has no mark."""
        return self.score is None and self.said in (NOT_GRADED, NOT_READABLE)


@dataclasses.dataclass(frozen=True)
class Row:
    """All marks of one student.

    Args:
        submissions: the files that count; for an absent student, a placeholder without a file.
        marks: one for each exercise of the batch, by name.
        score: the sum of the marks, or None if a mark is missing or nothing could be graded.
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


def columns_of(batch: BatchResult) -> list[ExerciseResult]:
    """Return some result of each exercise that at least one file was graded on, in the course's order."""
    found: dict[str, ExerciseResult] = {}
    for one in (one for submission in batch.counted for one in submission.results):
        found.setdefault(one.name, one)
    order = {lesson: number for number, lesson in enumerate(batch.lessons)}
    return sorted(found.values(), key=lambda column: (order.get(column.lesson, -1), column.lesson))


def totals_of(row: Row) -> dict[str, tuple[float | None, float]]:
    """Return a student's points for each lesson, None if there is no mark, and the most points."""
    lessons = dict.fromkeys(mark.column.lesson for mark in row.marks.values())
    return {one: _total([mark for mark in row.marks.values() if mark.column.lesson == one]) for one in lessons}


def changed_marks(before: BatchResult, after: BatchResult) -> list[str]:
    """Return a line for each mark that differs from an earlier run, and one for students who are gone."""
    earlier = {row.student: row for row in rows_of(before)}
    lines = []
    for row in rows_of(after):
        old = earlier.pop(row.student, None)
        for name, mark in row.marks.items():
            was = old.marks.get(name) if old is not None else None
            if was is not None and was.score is not None and was.score != mark.score:
                score = "no mark" if mark.score is None else f"{mark.score:g}"
                lines.append(f"{row.student}: {name} {was.score:g} → {score}")
    gone = [student for student, row in earlier.items() if row.score is not None]
    if gone:
        said = plural("{count} student of the last run is", "{count} students of the last run are", len(gone))
        names = ", ".join(gone[:5]) + (", …" if len(gone) > 5 else "")
        lines.append(f"{said} not in this one, and so not in the tables: {names}")
    return lines


def of_lessons(batch: BatchResult, lessons: Collection[str]) -> BatchResult:
    """Return a batch with the marks of these lessons alone."""
    kept = []
    for one in batch.submissions:
        found = one.of_exercises({result.name for result in one.results if result.lesson in lessons})
        if one.results and not found.results:  # the student's marks are for other lessons
            found = dataclasses.replace(found, not_graded={}, state=State.ABSENT)
        kept.append(found)
    return dataclasses.replace(batch, submissions=kept, lessons=[one for one in batch.lessons if one in lessons])


def rows_of(batch: BatchResult) -> list[Row]:
    """Return one row per student, in the batch's order."""
    columns = columns_of(batch)
    overrides = {(name_key(one.student), one.exercise): one for one in batch.overrides}
    files: dict[str, list[SubmissionResult]] = {}
    for one in batch.counted:
        files.setdefault(one.student, []).append(one)
    rows = []
    for student, theirs in files.items():
        key = name_key(student)
        marks = {column.name: _mark(column, theirs, overrides.get((key, column.name))) for column in columns}
        missing = {mark.said for mark in marks.values() if mark.is_missing}
        score, points = _total(marks.values())
        state = _state(theirs, missing)
        rows.append(Row(student, state, tuple(theirs), marks, score, points, batch.ids.get(student, {})))
    return rows


def _total(marks: Collection[Mark]) -> tuple[float | None, float]:
    """Return the sum of marks, None if there is none or one is missing, and the most points."""
    given = [mark.score for mark in marks if mark.score is not None]
    is_known = given and not any(mark.is_missing for mark in marks)
    return round(sum(given), 2) if is_known else None, sum(mark.column.points for mark in marks)


def _mark(column: ExerciseResult, submissions: Sequence[SubmissionResult], override: Override | None) -> Mark:
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


def _state(submissions: Sequence[SubmissionResult], missing: set[str]) -> State:
    states = {one.state for one in submissions}
    if NOT_GRADED in missing or (State.NOT_GRADED in states and not any(one.results for one in submissions)):
        return State.NOT_GRADED
    if missing:
        return State.UNREADABLE
    return next((state for state in (State.GRADED, State.UNREADABLE, State.ABSENT) if state in states), State.GRADED)
