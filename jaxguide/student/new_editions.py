"""Lay a lesson as it is now beside a student's older print of it, which stays as it is."""

from collections.abc import Iterable
from pathlib import Path

from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.grading.intake.submission import UnreadableSubmission, read_submission
from jaxguide.student.which_course import is_of_another_course
from jaxguide.student.workspace import KEPT, LaidFile, lay_files


def lay_new_editions(laid: Iterable[LaidFile], course: Outline) -> list[LaidFile]:
    """Lay a lesson as `lesson_2` beside each of its files that lacks an exercise; return all files of the workspace.

    Raises:
        OSError: the folder cannot be written to.
    """
    found = []
    for file in laid:
        found.append(file)
        printed, lesson = course.folders.notebooks / file.path.name, course.books.get(file.path.stem)
        if lesson is None or file.state != KEPT or not (missing := _missing(file.path, lesson, course)):
            continue
        path, number = file.path, 1
        while path.exists() and _missing(path, lesson, course) != frozenset():
            number += 1
            path = file.path.with_stem(f"{lesson.topic}_{number}")
        (new,) = lay_files(path.parent, {path.name: printed})
        if new.state == "new":
            said = plural("{count} exercise that yours lacks", "{count} exercises that yours lacks", len(missing))
            new = new._replace(state=f"new edition, with {said}")
        found.append(new)
    return found


def _missing(path: Path, lesson: Lesson, course: Outline) -> frozenset[str] | None:
    """Return the exercises of a lesson that a file of it lacks, or None if it is not a file of this lesson."""
    try:
        submission = read_submission(path)
    except UnreadableSubmission:
        return None
    if lesson.topic not in submission.topics() or is_of_another_course(submission, course):
        return None
    return lesson.exercise_names.difference(*(cell.defines for cell in submission.cells))
