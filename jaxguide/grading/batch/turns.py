"""Let gradings run together or, if one must not be disturbed by others, alone."""

import contextlib
import threading
from collections.abc import Iterator


class Turns:
    """A lock that threads share with `together` and own with `alone`.

    A thread that is alone may enter `together`, too. A thread that is in `together` must leave it before `alone`.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = self._waiting = 0
        self._alone: int | None = None

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Share the lock. New threads wait as long as one is alone or waits to be."""
        if self._alone == threading.get_ident():
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self._alone is None and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Own the lock, after all threads that share or own it have left."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._alone is None and not self._sharing)
                self._alone = threading.get_ident()
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._alone = None
                self._changed.notify_all()
