"""The line between the grader and a worker: frames to and fro, which a worker may leave full, empty or torn."""

import contextlib
import queue
import threading
from typing import IO

from jaxguide.grading.workers import wire
from jaxguide.grading.workers.processes import Process

Received = bytes | wire.WireError | None
"""A frame, what is wrong with it, or that the line has ended."""


class WorkerPipe:
    """Two pipes and a thread of their own, since nobody may wait for a worker without looking at its limits.

    Args:
        process: the worker's; its pipes are closed when the line has ended.
        config: what is sent first.
    """

    def __init__(self, process: Process, config: bytes):
        self._pipes = process.stdin, process.stdout
        self._sent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._received: queue.SimpleQueue[Received] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._carry, args=(config,), daemon=True)
        self._thread.start()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has come that was not received yet."""
        return self._received.empty()

    def send(self, frame: bytes) -> None:
        """Send a frame, some time; the next is sent after the reply."""
        self._sent.put(frame)

    def receive(self, timeout_s: float) -> Received:
        """Return what came.

        Raises:
            queue.Empty: nothing did within this time.
        """
        return self._received.get(timeout=timeout_s)

    def close(self) -> None:
        """End the line; the worker should have ended. Waits for nothing: another process may still hold the pipes."""
        self._sent.put(None)

    def _carry(self, config: bytes) -> None:
        stdin, stdout = self._pipes
        assert stdin is not None
        assert stdout is not None
        with contextlib.closing(stdin), contextlib.closing(stdout):
            self._exchange(stdin, stdout, config)

    def _exchange(self, stdin: IO[bytes], stdout: IO[bytes], config: bytes) -> None:
        try:
            _write(stdin, config)
            while True:
                prefix = _read(stdout, wire.PREFIX.size)
                self._received.put(prefix + _read(stdout, wire.frame_size(prefix)) if prefix else None)
                frame = self._sent.get()
                if not prefix or frame is None:
                    return
                _write(stdin, frame)
        except wire.WireError as error:
            self._received.put(error)
        except (OSError, ValueError):
            self._received.put(None)


def _read(pipe: IO[bytes], size: int) -> bytes:
    """Read so many bytes; none where the line ends before the first."""
    parts: list[bytes] = []
    left = size
    while left:
        part = pipe.read(min(left, 2**20))
        if not part:
            if parts:
                raise wire.WireError("the line ended in the middle of a frame")
            return b""
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _write(pipe: IO[bytes], data: bytes) -> None:
    """Write all of it, which an unbuffered pipe does in parts."""
    rest = memoryview(data)
    while rest:
        rest = rest[pipe.write(rest) :]
