"""Find finished marks in a `results.json` that the store beside it has lost, so that grading can take them again."""

import dataclasses
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.base.files import free_name
from jaxguide.base.text import _
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.judge import ordered, required_names
from jaxguide.course.verdict import ExerciseResult, Verdict, score
from jaxguide.grading.batch.batch_result import BatchResult, undo_overrides
from jaxguide.grading.batch.course_state import course_state_digest
from jaxguide.grading.batch.grade_class import ClassRun
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.habits import habits_of
from jaxguide.grading.batch.store import RowKey, Store, settings_digest
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.student_names import joined
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.reports.results_json import RESULTS_FILE_NAME, NoResults, batch_from_plain, read_plain

_Row = tuple[RowKey, SubmissionResult]


@dataclasses.dataclass(frozen=True)
class LostMarks:
    """Finished marks in a `results.json` that the store beside it does not have.

    Args:
        document: the `results.json`.
        count: how many files have such marks; 0 if the document cannot be read.
        fitting: the results that a grading run would come to again, with the keys of their rows.
        why_not: a sentence that says why none fits, or ''.
    """

    document: Path
    count: int
    fitting: list[_Row]
    why_not: str = ""

    def take(self, store: Store) -> None:
        """Save the results that fit to the store, where the grading run finds them."""
        for key, result in self.fitting:
            store.record(key, result)

    def keep_document(self) -> Path:
        """Rename the document, so that grading does not overwrite it, and return its new path."""
        place = free_name(self.document, "old")
        os.rename(self.document, place)
        return place


def lost_marks(run: ClassRun, store: Store) -> LostMarks | None:
    """Return the finished marks that only the `results.json` of a results folder has, or None if there are none.

    Args:
        run: the grading run that would overwrite them.
        store: the store in the results folder.
    """
    document = store.folder / RESULTS_FILE_NAME
    if not document.is_file():
        return None
    try:
        plain = read_plain(document)
        count = _count_lost(plain, store)
        if not count:
            return None
        batch = batch_from_plain(plain)
    except NoResults as error:
        return LostMarks(document, 0, [], str(error))
    why_not = _why_none_fits(batch, run)
    return LostMarks(document, count, [] if why_not else list(_fitting(batch, run)), why_not)


def _count_lost(plain: Any, store: Store) -> int:
    """Count the files whose marks are in the document but not in the store.

    Raises:
        NoResults: the document is damaged.
    """
    stored = store.graded_files()
    try:
        shared = plain["course"]["digest"], plain.get("settings", "")
        rows = [row for row in plain["submissions"] if row["state"] == State.GRADED.value and row["score"] is not None]
        return sum(
            (joined(row.get("members") or [row["student"]]), row["digest"], *shared) not in stored for row in rows
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise NoResults(_("It is damaged ({error}).").format(error=clean(repr(error), 100))) from None


def _why_none_fits(batch: BatchResult, run: ClassRun) -> str:
    settings = run.order.settings
    if batch.course_digest != course_state_digest(run.order.course):
        return _("They were given with another course, key or version of JAX.")
    if batch.seed != settings.seed:
        return _("They were given with the seed {seed}.").format(seed=batch.seed)
    if batch.settings != settings_digest(settings):
        return _("They were given with other settings.")
    return ""


def _fitting(batch: BatchResult, run: ClassRun) -> Iterator[_Row]:
    """Yield the finished results of an earlier batch that was graded alike, with their rows' keys.

    Each is for a file of the same student with the same name and bytes, and its points are those that its checks earn.

    Args:
        batch: the earlier batch; overrides in it are undone.
        run: the grading run.
    """
    course, settings = run.order.course, run.order.settings
    found = {
        (one.submitted_by, one.path.name, one.digest): one
        for one in undo_overrides(batch)
        if one.tier in ("", batch.tier) and _is_whole(one, course, settings)
    }
    habits = habits_of([(one.entry.path, one.student) for one in run.line.files], course.identity)
    for submitted in run.line.files:
        path = submitted.entry.path
        try:
            digest = "" if submitted.superseded else hashlib.sha256(submitted.entry.read()).hexdigest()
        except UnreadableSubmission:
            continue
        one = found.get((clean(submitted.student), clean(path.name), digest))
        if one is not None:
            yield (
                run.row_key(submitted, digest, batch.course_digest),
                dataclasses.replace(
                    one,
                    path=path,
                    student=submitted.student,
                    layers=batch.layers if one.tier else [],
                    versions=batch.versions if one.tier else {},
                    course_digest=batch.course_digest,
                    habits=habits.get(path, {}),
                ),
            )


def _is_whole(one: SubmissionResult, course: Course, settings: GradeSettings) -> bool:
    """Return whether a result has a mark for each exercise that is graded, and its points follow from its checks."""
    if not one.lessons or len(set(one.lessons)) != len(one.lessons) or not set(one.lessons) <= course.books.keys():
        return False
    of_lessons = [exercise for topic in one.lessons for exercise in course.books[topic].exercises]
    asked = [exercise for exercise in of_lessons if settings.only is None or exercise.name in settings.only]
    if [result.name for result in one.results] != [exercise.name for exercise in asked]:
        return False
    if one.points != sum(exercise.points for exercise in asked) or min(one.cpu_s, one.wall_s, one.memory_bytes) < 0:
        return False
    return all(_is_right(*pair, settings.all_or_nothing) for pair in zip(one.results, asked, strict=True))


def _is_right(result: ExerciseResult, exercise: Exercise, all_or_nothing: bool) -> bool:
    if (result.lesson, result.points) != (exercise.lesson, exercise.points):
        return False
    if exercise.is_prediction:
        return not result.checks and result.score == (exercise.points if result.verdict is Verdict.PASSED else 0)
    checks = ordered(exercise, hidden=True)
    required = required_names(checks)
    wanted = [(c.name, c.stage, c.kind, c.weight, c.hidden, c.name in required) for c in checks]
    if [(c.name, c.stage, c.kind, c.weight, c.hidden, c.required) for c in result.checks] != wanted:
        return False
    return result.score == score(exercise.points, result.checks, all_or_nothing)
