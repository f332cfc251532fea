"""Grade a class, or files one after the other, without a store and without control submissions."""

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.grade_class import ClassRun, Order, Watch
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.store import Store
from jaxguide.grading.batch.submission_result import SubmissionResult
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


def grade_class(order: Order, watch: Watch = lambda result, is_new: None) -> BatchResult:
    """Return the result of grading a class, whose store stays in the results folder."""
    run = ClassRun(order)
    with Store(order.out) as store:
        run.grade(store, watch)
        return run.result(store)


def without_times(batch: BatchResult) -> BatchResult:
    """Return a batch without what differs from run to run."""
    rows = [dataclasses.replace(one, cpu_s=0.0, wall_s=0.0, memory_bytes=0) for one in batch.submissions]
    return dataclasses.replace(batch, submissions=rows)
