"""Grade several submissions at a time: the interface of pools, and a pool of threads, each with separate workers."""

import concurrent.futures
import os
from typing import Protocol

from jaxguide.grading.batch.grader import Grader
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.workers.worker_process import GraderError

Graded = tuple[SubmissionResult, str, int]
"""A result, the name of the grader that produced it, and how many control submissions that grader had passed before."""


class PoolLost(GraderError):
    """The pool is gone or must not be used; run the batch again to continue it."""


class Pool(Protocol):
    """Grade several submissions at a time.

    `jobs` is how many; `course_digest` is the `course_state_digest` that its results must have.
    """

    jobs: int
    course_digest: str

    def submit(self, entry: ReadEntry) -> "concurrent.futures.Future[Graded]":
        """Schedule one file for grading; the future raises `GraderBroken`, `PoolLost` or `GraderError`."""

    def close(self) -> None:
        """Stop all grading in progress, and all processes."""


class ThreadPool:
    """Grade on this machine.

    Args:
        grader: the grader, shared by all threads.
        jobs: how many submissions to grade at a time; by default the number of cores available to this process.
        is_controlled: whether control submissions confirm the results, see `Control`. The submissions may be the
            author's own.
    """

    def __init__(self, grader: Grader, jobs: int | None = None, is_controlled: bool = True):
        self.jobs = jobs or cores()
        self._is_controlled = is_controlled
        self.course_digest = grader.course_digest
        self._grader = grader
        self._executor = concurrent.futures.ThreadPoolExecutor(self.jobs, thread_name_prefix="grade")

    def submit(self, entry: ReadEntry) -> "concurrent.futures.Future[Graded]":
        return self._executor.submit(self._grade, entry)

    def _grade(self, entry: ReadEntry) -> Graded:
        if not self._is_controlled:
            return self._grader.grade(entry), "", 0
        result, passed = self._grader.grade_controlled(entry)
        return result, "", passed

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._grader.stop()
        self._executor.shutdown(wait=True)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
