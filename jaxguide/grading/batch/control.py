"""Tell a broken grader from a wrong answer: grade the key's own answers as if a student had sent them."""

import json
import threading
from collections.abc import Callable, Collection
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.workers.worker_process import GraderError, NotGraded

EVERY = 50
"""After so many submissions the control submission is graded again."""

_POOR_IN_A_ROW = 5


class GraderBroken(GraderError):
    """The key's own answers do not pass here, so that no student's result can be trusted."""


def _is_right(result: SubmissionResult) -> bool:
    return bool(result.results) and all(one.verdict is Verdict.PASSED for one in result.results)


def control_submission(book: Book, only: Collection[str] | None = None) -> ReadEntry:
    """Return a notebook that answers every exercise of a lesson, or some alone, as the key does."""
    asked = [exercise for exercise in book.exercises if only is None or exercise.name in only]
    answers = [exercise.key.answer.source for exercise in asked if exercise.key is not None]
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in answers]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return ReadEntry(Path(f"{book.topic}.ipynb"), json.dumps(notebook).encode())


class Control:
    """Decides when the key's own answers to a lesson are graded, and stops everything once they do not pass.

    They are graded before a first mark in their lesson is less than full, and again after every 50 submissions, after
    one that the grader failed on, and after 5 in a row without a point. An answer that is right in everything shows by
    itself that the grader works.

    Args:
        course: the course, with its keys.
        grade: grades one file, without control.
        only: names of the exercises that are graded, None for all.
        before_all: grade them before the first submission of each lesson, whatever it comes to: for graders that tell
            marks before all of a submission is graded.
    """

    def __init__(
        self,
        course: Course,
        grade: Callable[[ReadEntry], SubmissionResult],
        only: Collection[str] | None = None,
        before_all: bool = False,
    ):
        self._course, self._grade, self._only, self._before_all = course, grade, only, before_all
        self.passed = 0
        self._lock = threading.Lock()
        self._controlled: set[str] = set()
        self._since = 0
        self._poor = 0
        self._broken = ""

    def before(self, topics: list[str]) -> None:
        """Control what is due before a submission with answers to these lessons is graded.

        Raises:
            GraderBroken: the key's own answers do not pass, now or earlier.
        """
        with self._lock:
            if self._since >= EVERY or self._poor >= _POOR_IN_A_ROW:
                self._control(sorted({*self._controlled, *topics}))
        if self._before_all or self._broken:
            self._control_new(topics)

    def after(self, result: SubmissionResult, topics: list[str]) -> None:
        """Control what is due after a submission came to this.

        Raises:
            GraderBroken: the key's own answers do not pass, now or earlier.
        """
        if not _is_right(result):
            self._control_new(result.lessons or topics)
        with self._lock:
            self._since += 1
            self._poor = self._poor + 1 if result.lessons and not result.score else 0

    def after_failure(self) -> None:
        """Control all lessons of the batch so far, since the grader failed on a submission.

        Raises:
            GraderBroken: the key's own answers do not pass, now or earlier.
        """
        with self._lock:
            self._control(sorted(self._controlled) or list(self._course.books)[:1])

    def _control_new(self, topics: list[str]) -> None:
        with self._lock:
            new = [topic for topic in topics if topic not in self._controlled]
            if new or self._broken:
                self._control(new)

    def _control(self, topics: list[str]) -> None:
        """Grade the control submissions of these lessons. Needs the lock."""
        self._since = self._poor = 0
        if self._broken:
            raise GraderBroken(self._broken)
        for topic in topics:
            book = self._course.books[topic]
            # Twice, since a machine can be busy for a while.
            why = self._trouble(book) and self._trouble(book)
            if why:
                message = _(
                    "The grader is broken here: the key's own answers to `{lesson}` do not pass. {why} No student is "
                    "to blame. Look with `jaxguide verify` and `jaxguide doctor`, then run the same command again."
                )
                self._broken = message.format(lesson=topic, why=why)
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
