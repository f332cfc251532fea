"""Where submissions are graded: in threads of this process, each with workers of its own."""

import concurrent.futures
import os
from typing import Protocol

from jaxguide.grading.batch.grader import Grader
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.workers.worker_process import GraderError

Graded = tuple[SubmissionResult, str, int]
"""A result, the grader that it came from, and how many control submissions had passed there before it."""


class PoolLost(GraderError):
    """Where submissions were graded is gone, or not to be used; the batch goes on when it is run again."""


class Pool(Protocol):
    """Grades submissions, several at a time.

    `jobs` is how many; `course_digest` is of what decides there.
    """

    jobs: int
    course_digest: str

    def submit(self, entry: ReadEntry) -> "concurrent.futures.Future[Graded]":
        """Have one file graded; the future raises `GraderBroken`, `PoolLost` or `GraderError`."""

    def close(self) -> None:
        """End what is still running, and every process."""


class ThreadPool:
    """Grade on this machine.

    Args:
        grader: what grades.
        jobs: how many at a time; by default as many as this process has cores.
    """

    def __init__(self, grader: Grader, jobs: int | None = None):
        self.jobs = jobs or cores()
        self.course_digest = grader.course_digest
        self._grader = grader
        self._executor = concurrent.futures.ThreadPoolExecutor(self.jobs, thread_name_prefix="grade")

    def submit(self, entry: ReadEntry) -> "concurrent.futures.Future[Graded]":
        return self._executor.submit(self._grade, entry)

    def _grade(self, entry: ReadEntry) -> Graded:
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
