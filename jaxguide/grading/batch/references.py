"""Share the key's answers within a batch and with later ones: compute each value once per input."""

import collections
import contextlib
import hashlib
import marshal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxguide.base.files import write_whole
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.evaluate import Request, evaluate
from jaxguide.grading.workers import wire
from jaxguide.grading.workers.shared_programs import is_safe

_MOST_BYTES = 64 * 2**20
# Evaluating a function captures output, warnings and compile events of the whole process, so do one at a time.
_LOCK = threading.RLock()


class References:
    """The answers of one course's key, usable from any thread.

    At most 64 MB of values are cached, and the least recently used are dropped first. Without this limit, checks that
    call the reference on results of students' functions could fill the memory.

    Args:
        file: the file that stores values between batches, for one state of the course and one JAX version. It is read
            now, and written by `keep_for_later`. If it is damaged, values are computed again.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._names: dict[str, dict[str, Any]] = {}
        self._kept: collections.OrderedDict[bytes, bytes] = collections.OrderedDict()
        self._size_bytes = 0
        self._file, self._is_new = file, False
        if file is not None:
            for asked, reply in _read(file):
                self._keep(asked, reply)

    def of(self, exercise: Exercise, book: Book) -> "Reference | None":
        """Return the key's answer to an exercise, or None if it has no key."""
        return None if exercise.key is None else Reference(self, exercise, book)

    def names(self, exercise: Exercise, book: Book) -> dict[str, Any]:
        """Return the namespace of the key's answer to an exercise, which runs on the first call."""
        assert exercise.key is not None
        with _LOCK:
            if exercise.name not in self._names:
                filename = f"<reference {exercise.name}>"
                self._names[exercise.name] = run_answer(book, exercise.key.answer.source, filename)
        return self._names[exercise.name]

    def reply(self, asked: str, request: Request, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the reply to a request, which is computed once unless it is too large to be kept.

        Args:
            asked: the name of what is asked.
            request: the request.
            compute: returns the reply.
        """
        reply = None
        with contextlib.suppress(wire.WireError):
            key = asked.encode() + b"\0" + wire.encode(request)
            if (found := self._kept.get(key)) is None:
                reply = compute()
                found = wire.encode(reply)
            with _LOCK:
                self._is_new |= key not in self._kept
                self._keep(key, found)
            kept: dict[str, Any] = wire.decode(found)  # so that the first reply equals the later ones
            return kept
        return compute() if reply is None else reply

    def _keep(self, asked: bytes, reply: bytes) -> None:
        if asked in self._kept:
            self._kept.move_to_end(asked)
            return
        self._kept[asked] = reply
        self._size_bytes += len(asked) + len(reply)
        while self._size_bytes > _MOST_BYTES:
            gone, its_reply = self._kept.popitem(last=False)
            self._size_bytes -= len(gone) + len(its_reply)

    def keep_for_later(self) -> None:
        """Write the values to the file atomically, readable by this user only."""
        if self._file is None or not self._is_new:
            return
        with _LOCK:
            content = marshal.dumps(list(self._kept.items()))
            self._is_new = False
        with contextlib.suppress(OSError):
            write_whole(self._file, hashlib.sha256(content).digest() + content, 0o600)


def _read(file: Path) -> list[tuple[bytes, bytes]]:
    """Return cached requests and replies; none if the file is missing, damaged or in a folder writable by others."""
    try:
        if not is_safe(file.parent) or file.stat().st_size > 2 * _MOST_BYTES:
            return []
        content = file.read_bytes()
    except OSError:
        return []
    is_whole = hashlib.sha256(content[32:]).digest() == content[:32]
    return list(marshal.loads(content[32:])) if is_whole else []


class Reference(Answer):
    """The key's answer in this process; calls its function only for requests that are not cached."""

    def __init__(self, shared: References, exercise: Exercise, book: Book):
        super().__init__(exercise.name)
        self._shared, self._exercise, self._book = shared, exercise, book

    def _ask(self, request: Request) -> dict[str, Any]:
        def compute() -> dict[str, Any]:
            names = self._shared.names(self._exercise, self._book)
            return evaluate(names[self.name], request, names)

        with _LOCK:
            return self._shared.reply(self.name, request, compute)
