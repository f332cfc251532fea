"""Run planted wrong answers, to find out whether a submission fails a check as one of them does.

They run in a worker of their own, which never runs a submission, and each is asked once for each input: what it
answered is kept with the key's values, within a batch and for later ones.
"""

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from jaxguide.code.slices import global_names
from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Check, Exercise, Planted
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.likeness import Failure
from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.batch.references import References
from jaxguide.grading.workers import wire
from jaxguide.grading.workers.remote_answer import RemoteAnswer
from jaxguide.grading.workers.worker_process import Surroundings, WorkerProcess

_MOST_BYTES = 4 * 2**20  # of what one answer returned in the calls that a check failed on


class PlantedWorkers:
    """The planted wrong answers of a course, usable from any thread.

    Args:
        course: the course, with its keys.
        kept: keeps replies.
        surroundings: returns the conditions in which submissions for a lesson run.
    """

    def __init__(self, course: Course, kept: References, surroundings: Callable[[str], Surroundings]):
        self._course, self._kept, self._surroundings = course, kept, surroundings
        self._lock = threading.Lock()
        self._failures: dict[tuple[str, str, str], Failure | None] = {}
        self._worker: WorkerProcess | None = None
        self._end: Callable[[], object] = lambda: None
        self._lesson, self._defined = "", ("", "")

    def __call__(
        self, exercise: Exercise, planted: Planted, check: Check, judge: Callable[[Answer], Failure | None]
    ) -> Failure | None:
        """Return how a planted answer fails a check, or None if it passes or cannot be run."""
        key = exercise.name, planted.name, check.name
        with self._lock:
            if key not in self._failures:
                found = None
                # A misconception that is not named harms no one, but no mark may depend on planted answers.
                with contextlib.suppress(Exception):
                    found = judge(RemoteAnswer(exercise.name, functools.partial(self._ask, exercise, planted)))
                self._failures[key] = found if found is not None and _size_bytes(found) <= _MOST_BYTES else None
            return self._failures[key]

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._end()

    def _ask(self, exercise: Exercise, planted: Planted, name: str, request: Request) -> dict[str, Any]:
        return self._kept.reply(
            "\0".join(("planted", name, planted.name)),
            request,
            lambda: self._ready(exercise, planted).request("ask", name=name, request=request),
        )

    def _ready(self, exercise: Exercise, planted: Planted) -> WorkerProcess:
        """Return the worker, with a planted answer defined."""
        worker = self._worker
        if worker is None or not worker.is_alive or worker.is_crowded or self._lesson != exercise.lesson:
            self._end()
            worker = self._start(self._course.book_of(exercise))
        worker.start_exercise()
        if self._defined != (exercise.name, planted.name):
            self._defined = "", ""
            cell = {"cell": "planted answer", "source": planted.source, "exercises": [exercise.name], "starters": []}
            if worker.request("define", **cell).get("failed"):
                raise AnswerGone(Verdict.NO_SUCH_FUNCTION, "The planted answer cannot be defined.")
            self._defined = exercise.name, planted.name
        return worker

    def _start(self, book: Book) -> WorkerProcess:
        self._worker = worker = WorkerProcess(self._surroundings(book.topic))
        self._end = weakref.finalize(self, worker.kill)
        self._lesson, self._defined = book.topic, ("", "")
        wrong = [planted for exercise in book.exercises if exercise.key for planted in exercise.key.wrong]
        reads = {name for planted in wrong for name in global_names(planted.source)}
        worker.request("setup", source=book.setup_source(reads))
        worker.start_submission(0.0)
        return worker


def _size_bytes(failure: Failure) -> int:
    return sum(len(wire.encode(call.reply)) for call in failure.calls if call.request.question == "value")
