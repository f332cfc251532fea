"""The key's answers as a whole batch shares them: each value is computed once for each input."""

import collections
import contextlib
import copy
import threading
from collections.abc import Mapping
from typing import Any

from jaxguide.course.answer import CallLog, LocalAnswer
from jaxguide.course.book import Book
from jaxguide.course.evaluate import Request, Step
from jaxguide.course.exercise import Exercise
from jaxguide.course.verify import run_answer
from jaxguide.grading import wire

_MOST_BYTES = 64 * 2**20
# Running a function watches the whole process: standard output, warnings, compile events. One at a time.
_LOCK = threading.RLock()


class References:
    """The answers of one course's key, from any thread.

    Values are kept up to 64 MB in all, the least recently asked for go first: a check may ask the reference about what
    a student's function gave, and that must not fill the memory.
    """

    def __init__(self) -> None:
        self._names: dict[str, dict[str, Any]] = {}
        self._kept: collections.OrderedDict[bytes, tuple[int, dict[str, Any]]] = collections.OrderedDict()
        self._size_bytes = 0

    def of(self, exercise: Exercise, book: Book) -> "Reference | None":
        """Return the key's answer to an exercise, None where there is no key."""
        if exercise.key is None:
            return None
        with _LOCK:
            if exercise.name not in self._names:
                filename = f"<reference {exercise.name}>"
                self._names[exercise.name] = run_answer(book, exercise.key.answer.source, filename)
        names = self._names[exercise.name]
        return Reference(self, exercise.name, names[exercise.name], names)

    def kept(self, asked: bytes) -> dict[str, Any] | None:
        """Return the reply to what was asked before, if it is still kept. Needs the lock."""
        found = self._kept.get(asked)
        if found is None:
            return None
        self._kept.move_to_end(asked)
        return copy.deepcopy(found[1])

    def keep(self, asked: bytes, reply: dict[str, Any], size_bytes: int) -> None:
        """Keep a reply, and let others go where they are too many. Needs the lock."""
        self._kept[asked] = size_bytes, copy.deepcopy(reply)
        self._size_bytes += size_bytes
        while self._size_bytes > _MOST_BYTES:
            self._size_bytes -= self._kept.popitem(last=False)[1][0]


class Reference(LocalAnswer):
    """The key's answer in this process; asks its function only what was not asked before."""

    def __init__(
        self,
        shared: References,
        name: str,
        function: Any,
        names: Mapping[str, Any],
        steps: tuple[Step, ...] = (),
        log: CallLog | None = None,
    ):
        super().__init__(name, function, names, steps, log)
        self._shared = shared

    def _with(self, steps: tuple[Step, ...]) -> "Reference":
        return Reference(self._shared, self.name, self.function, self.names, steps, self.log)

    def _ask(self, request: Request) -> dict[str, Any]:
        try:
            asked = self.name.encode() + b"\0" + wire.encode(request)
        except wire.WireError:  # too large to be worth keeping
            asked = None
        with _LOCK:
            found = self._shared.kept(asked) if asked is not None else None
            if found is not None:
                return found
            reply = super()._ask(request)
            if asked is not None:
                with contextlib.suppress(wire.WireError):
                    self._shared.keep(asked, reply, len(asked) + len(wire.encode(reply)))
            return reply
