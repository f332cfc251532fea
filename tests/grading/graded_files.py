"""Grade files one after the other, as a class is graded, but without a store and without control submissions."""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.grader import Grader, GradeSettings, SubmissionResult
from jaxguide.grading.intake.file_owners import students_of
from jaxguide.grading.intake.file_search import find_submissions


def grade_files(
    paths: Sequence[Path], course: Course, *, only: Collection[str] | None = None, **options: Any
) -> Iterator[SubmissionResult]:
    """Yield the result of each file, and of each in the folders; `options` are those of `GradeSettings`."""
    files = find_submissions(paths)
    asked = {"limits": options.pop("limits", None) or course.settings.limits, **options}
    settings = GradeSettings(only=None if only is None else frozenset(only), conceal=tuple(files), **asked)
    with contextlib.closing(Grader(course, settings)) as grader:
        for file, student in zip(files, students_of(files, course), strict=True):
            result = grader.grade(file)
            result.student = student
            yield result
