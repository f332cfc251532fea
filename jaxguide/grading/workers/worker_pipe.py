"""The connection between the grader and a worker, which may send incomplete frames, invalid frames, or nothing."""

import contextlib
import queue
import threading
from typing import IO

from jaxguide.grading.workers import wire
from jaxguide.grading.workers.processes import Process

Received = bytes | wire.WireError | None
"""A frame, a `WireError` if the frame is not valid, or None if the connection has ended."""


class WorkerPipe:
    """A connection through two pipes. A thread reads and writes, so that the grader can check limits meanwhile.

    Args:
        process: the worker's process; its pipes are closed when the connection has ended.
        config: the bytes to send first.
    """

    def __init__(self, process: Process, config: bytes):
        self._pipes = process.stdin, process.stdout
        self._sent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._received: queue.SimpleQueue[Received] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._carry, args=(config,), daemon=True)
        self._thread.start()

    @property
    def is_quiet(self) -> bool:
        """Whether no frame is waiting to be received."""
        return self._received.empty()

    def send(self, frame: bytes) -> None:
        """Queue a frame for sending. A further frame is sent only after the reply to this one."""
        self._sent.put(frame)

    def receive(self, timeout_s: float) -> Received:
        """Return the next frame, or the error or end that came instead.

        Raises:
            queue.Empty: nothing came within this time.
        """
        return self._received.get(timeout=timeout_s)

    def close(self) -> None:
        """Close the connection after the worker has ended, without waiting: another process may hold the pipes open."""
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
    """Read `size` bytes, or b'' if the pipe ends before the first byte."""
    parts: list[bytes] = []
    left = size
    while left:
        part = pipe.read(min(left, 2**20))
        if not part:
            if parts:
                raise wire.CutOff("the connection ended in the middle of a frame")
            return b""
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _write(pipe: IO[bytes], data: bytes) -> None:
    """Write all the data; an unbuffered pipe may write only a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[pipe.write(rest) :]
