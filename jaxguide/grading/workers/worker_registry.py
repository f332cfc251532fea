"""Know the workers that run now, so that all of them can be ended at once from another thread."""

import threading
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

from jaxguide.base.text import _
from jaxguide.grading.workers.remote import GraderError


class Stopped(GraderError):
    """Grading was stopped from outside."""


class Killable(Protocol):
    """What can be ended."""

    def kill(self) -> None: ...


T = TypeVar("T", bound=Killable)


class Running:
    """The workers of one grader."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: weakref.WeakSet[Killable] = weakref.WeakSet()
        self._is_stopped = False

    def start(self, make: Callable[[], T]) -> T:
        """Start a worker and know it from now on.

        Raises:
            Stopped: `stop` was called.
        """
        worker = None if self._is_stopped else make()
        with self._lock:
            if worker is not None and not self._is_stopped:
                self._workers.add(worker)
                return worker
        if worker is not None:
            worker.kill()
        raise Stopped(_("Grading was stopped."))

    def stop(self) -> None:
        """End all workers, and start no more."""
        with self._lock:
            self._is_stopped = True
            workers = list(self._workers)
        for worker in workers:
            worker.kill()
