"""Tell a broken grader from a wrong answer by grading the key's answers as if a student had submitted them."""

import contextlib
import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.workers.worker_process import GraderError, NotGraded

EVERY = 50
"""The number of submissions after which the control submission is graded again."""

_POOR_IN_A_ROW = 5


class GraderBroken(GraderError):
    """The key's answers do not pass, so no student's result can be trusted."""


class GraderLost(GraderError):
    """The grader is gone or must not be used; run the batch again to continue it."""


def control_submission(book: Book, only: Collection[str] | None = None) -> Entry:
    """Return a notebook with the key's answers to a lesson's exercises, or to those in `only`."""
    asked = [exercise for exercise in book.exercises if only is None or exercise.name in only]
    return submission_of(book, [exercise.key.answer.source for exercise in asked if exercise.key is not None])


def submission_of(book: Book, answers: Iterable[str]) -> Entry:
    """Return a notebook with these answers to exercises of a lesson, each in a cell."""
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in answers]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return Entry(Path(f"{book.topic}.ipynb"), json.dumps(notebook).encode())


class Turns:
    """A lock that threads share with `together` and own with `alone`; those that come later wait for the latter."""

    def __init__(self) -> None:
        self._gate, self._left = threading.Lock(), threading.Condition()
        self._sharing = 0

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Share the lock."""
        with self._gate, self._left:
            self._sharing += 1
        try:
            yield
        finally:
            with self._left:
                self._sharing -= 1
                self._left.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Own the lock, after all threads that share or own it have left; until then, no other may share it."""
        with self._gate, self._left:
            self._left.wait_for(lambda: not self._sharing)
            yield


class Control:
    """Decide when to grade the key's answers to a lesson, and stop the batch if they do not pass.

    They are graded before the first submission in a lesson that does not get full marks is reported, and again after
    every 50 submissions, after a submission that made the grader fail, and after 5 submissions in a row without a
    point. A submission with full marks is proof enough that the grader works.

    Args:
        course: the course, with its keys.
        grade: grades one file, without control. It raises `WorkerKilled` if a worker was killed.
        turns: the lock that gradings share.
        only: the names of the exercises to grade, or None for all.
        before_all: grade the key's answers before the first submission of each lesson in any case. Graders that report
            marks before a submission is fully graded need this.
    """

    def __init__(
        self,
        course: Course,
        grade: Callable[[Entry], SubmissionResult],
        turns: Turns,
        only: Collection[str] | None = None,
        before_all: bool = False,
    ):
        self._course, self._grade, self._turns = course, grade, turns
        self._only, self._before_all = only, before_all
        self.passed = 0
        self._lock = threading.Lock()
        self._controlled: set[str] = set()
        self._since = 0
        self._poor = 0
        self._broken = ""

    def before(self, topics: list[str]) -> None:
        """Grade the control submissions that are due before a submission with answers to these lessons.

        Raises:
            GraderBroken: the key's answers do not pass, or did not pass earlier.
        """
        with self._lock:
            new = {*topics} - self._controlled if self._before_all else set()
            is_due = self._since >= EVERY or self._poor >= _POOR_IN_A_ROW
            self._control({*self._controlled, *topics} if is_due else new)

    def after(self, result: SubmissionResult, topics: list[str]) -> None:
        """Grade the control submissions that are due after a submission with this result.

        Raises:
            GraderBroken: the key's answers do not pass, or did not pass earlier.
        """
        if "" in result.not_graded:
            return  # it has no marks to confirm
        with self._lock:
            if not result.results or any(one.verdict is not Verdict.PASSED for one in result.results):
                self._control({*(result.lessons or topics)} - self._controlled)
            self._since += 1
            self._poor = self._poor + 1 if result.lessons and not result.score else 0

    def after_failure(self) -> None:
        """Grade the control submissions of all lessons so far, because the grader failed on a submission.

        Raises:
            GraderBroken: the key's answers do not pass, or did not pass earlier.
        """
        with self._lock:
            self._control(self._controlled or {next(iter(self._course.books))})

    def confirm(self, topics: list[str]) -> str:
        """Grade the key's answers to these lessons once; return why they do not pass, or '' if they do.

        The caller is alone. If they do not pass, grading continues.
        """
        return next(filter(None, (self._trouble(self._course.books[topic]) for topic in topics)), "")

    def _control(self, topics: set[str]) -> None:
        """Grade the control submissions of these lessons, if any. The caller holds the lock."""
        if self._broken:
            raise GraderBroken(self._broken)
        if not topics:
            return
        self._since = self._poor = 0
        for topic in sorted(topics):
            book = self._course.books[topic]
            if self._only is not None and book.exercise_names.isdisjoint(self._only):
                continue
            with self._turns.together():
                why = self._trouble(book)
            if why:
                # Try again: it may have failed because the machine is briefly overloaded.
                with self._turns.alone():
                    why = self._trouble(book)
            if why:
                self._broken = (
                    f"The key's answers to `{topic}` do not pass here, so no one can be graded. {why} No student is at "
                    "fault. `jaxguide verify` finds a mistake of the course, and `jaxguide doctor` one of this machine."
                )
                raise GraderBroken(self._broken)
            self._controlled.add(topic)
        self.passed += 1

    def _trouble(self, book: Book) -> str:
        try:
            result = self._grade(control_submission(book, self._only))
        except NotGraded as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if result.unreadable is not None:
            return result.unreadable
        for one in result.results:
            has_key = self._course.exercise(one.name).key is not None
            if has_key and one.verdict is not Verdict.PASSED:
                failure = one.first_failure
                said = result.not_graded.get(one.name) or (failure.message if failure else one.note)
                return f"`{one.name}`: {one.verdict.value}. {said}"
        return ""
