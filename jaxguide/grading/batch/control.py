"""Tell a broken grader from a wrong answer: grade the key's own answers as if a student had sent them."""

import contextlib
import dataclasses
import json
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.course.judging.compiled import KeptPrograms, compiled_once
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.digest import course_digest
from jaxguide.grading.batch.grader import Grader, GradeSettings, Tell
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.workers.compile_cache import OWN, fill, folder_of, prune
from jaxguide.grading.workers.remote import GraderError, NotGraded

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


@contextlib.contextmanager
def controlled(course: Course, settings: GradeSettings, tell: Tell | None = None) -> "Iterator[ControlledGrader]":
    """Make a grader that begins with the programs and values of earlier batches, and keeps its own for later ones.

    Args:
        course: the course, with its keys.
        settings: how submissions are graded; without a `compile_cache` it is this user's.
        tell: see `Grader`; a control submission comes before what is told.

    Raises:
        GraderError: see `Grader`.
    """
    if settings.compile_cache is None:
        settings = dataclasses.replace(settings, compile_cache=folder_of(course_digest(course)))
    grader = Grader(course, settings, tell)
    with contextlib.ExitStack() as stack:
        own = None if grader.kept is None else stack.enter_context(KeptPrograms(grader.kept / OWN).lent())
        programs = stack.enter_context(compiled_once(own))
        stack.callback(grader.keep_values)
        yield ControlledGrader(grader, programs, before_all=tell is not None)


class ControlledGrader:
    """Grade submissions, and the control submission of a lesson before a first mark in it is less than full.

    Again: after every 50 submissions, after one that the grader failed on, and after 5 in a row without a point. What
    is right in everything shows by itself that the grader works.

    Args:
        grader: what grades.
        before_all: grade the control submission before the first of each lesson, whatever it comes to: where marks are
            told before all of a submission is graded.
        programs: where this process keeps what it compiles, of this course alone. Where the programs of a lesson are
            missing in the grader's `compile_cache`, they are compiled first, for all workers.
    """

    def __init__(self, grader: Grader, programs: Path | None = None, before_all: bool = False):
        self.grader, self._before_all = grader, before_all
        self._programs = programs
        self.passed = 0
        self._lock = threading.Lock()
        self._controlled: set[str] = set()
        self._filled: set[str] = set()
        self._since = 0
        self._poor = 0
        self._broken = ""

    def grade(self, entry: ReadEntry) -> tuple[SubmissionResult, int]:
        """Grade one file.

        Returns:
            What it came to, and how many control submissions had passed before: a result is confirmed by the next.

        Raises:
            GraderBroken: the control submission fails. From then on every submission is refused.
            GraderError: this one could not be graded, though the control submission passes.
        """
        lessons = self._lessons_in(entry.content)
        self._prepare(lessons)
        passed = self.passed
        try:
            result = self.grader.grade(entry)
        except GraderBroken:
            raise
        except Exception as error:
            with self._lock:
                self._control(sorted(self._controlled) or list(self.grader.course.books)[:1])
            raise GraderError(f"{type(error).__name__}: {error}") from error
        if not _is_right(result):
            self._control_what_is_due(result.lessons or lessons)
        with self._lock:
            self._since += 1
            self._poor = self._poor + 1 if result.lessons and not result.score else 0
        return result, passed

    def fill(self, topic: str) -> None:
        """Compile and compute what checks of a lesson need, where that was not kept before."""
        cache = self.grader.settings.compile_cache
        if self._programs is None or cache is None:
            return
        if not (cache / topic).exists():
            self.grader.rehearse(self.grader.course.books[topic])
            fill(cache / topic, self._programs, self.grader.course)
        prune(cache)

    def _lessons_in(self, content: bytes) -> list[str]:
        """Return the lessons whose exercises a file seems to answer, without reading it as code."""
        books = self.grader.course.books
        return [t for t, book in books.items() if any(name.encode() in content for name in book.exercise_names)]

    def _prepare(self, topics: list[str]) -> None:
        """Do what must be done before these lessons of a submission are graded."""
        with self._lock:
            for topic in topics:
                if topic not in self._filled:
                    self.fill(topic)
                    self._filled.add(topic)
            if self._since >= EVERY or self._poor >= _POOR_IN_A_ROW:
                self._control(sorted({*self._controlled, *topics}))
        if self._before_all or self._broken:
            self._control_what_is_due(topics)

    def _control_what_is_due(self, topics: list[str]) -> None:
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
            book = self.grader.course.books[topic]
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
            result = self.grader.grade(control_submission(book, self.grader.settings.only))
        except NotGraded as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if result.unreadable is not None:
            return result.unreadable
        for one in result.results:
            has_key = self.grader.course.exercise(one.name).key is not None
            if has_key and one.verdict is not Verdict.PASSED:
                failure = one.first_failure
                said = result.not_graded.get(one.name) or (failure.message if failure else one.note)
                return f"`{one.name}`: {one.verdict.value}. {said}"
        return ""
