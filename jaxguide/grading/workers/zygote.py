"""Start workers by forking a process that has imported JAX already: the zygote, one for each grader, as it sees it.

What a worker imports costs more than most submissions. The zygote has imported it once, has not started a backend (a
process forked after that hangs) and has one thread.
"""

import contextlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from jaxguide.base.text import _
from jaxguide.grading.workers.processes import MESSAGE_BYTES, Process, command, environment

_START_LIMIT_S = 300.0
_FORK_LIMIT_S = 60.0
_END_LIMIT_S = 1.0
_POLL_S = 0.005


class ZygoteError(OSError):
    """The zygote does not start, has ended, or cannot fork."""


class UnfitError(ZygoteError):
    """What it imports here starts threads or a backend, so that its forks would hang."""


def new_token() -> str:
    """Return a mark that no other worker has; all of one grader are equally long."""
    return f"{os.getpid()}-{os.urandom(16).hex()}"


class Forked:
    """A worker's supervisor, forked from a zygote: it is no child of this process, and tells its end by a pipe.

    Args:
        zygote: what forked it.
        pid: its number.
        stdin, stdout: the grader's ends of its two pipes.
        status: where it writes how the worker ended; when it is ended itself, nothing comes.
    """

    def __init__(self, zygote: "Zygote", pid: int, stdin: io.FileIO, stdout: io.FileIO, status: io.FileIO):
        self.zygote, self.pid = zygote, pid
        self.stdin: io.FileIO | None = stdin
        self.stdout: io.FileIO | None = stdout
        self._status = status
        self._code: int | None = None
        self._is_lost = False
        self._lock = threading.Lock()

    @property
    def ended_with_zygote(self) -> bool:
        """Whether it ended because its zygote did, which is seen to end a moment later."""
        self.poll()
        return not self.zygote.is_alive or (self._is_lost and self.zygote.ends_soon())

    def poll(self) -> int | None:
        """Return how it ended, as `subprocess.Popen` does, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: it still runs after `timeout` seconds.
        """
        with self._lock:
            if self._code is None:
                ready = select.poll()  # unlike `select`, it takes descriptors above 1023
                ready.register(self._status, select.POLLIN)
                if not ready.poll(None if timeout is None else 1000 * timeout):
                    raise subprocess.TimeoutExpired("worker", timeout or 0)
                said = self._status.read(16)
                self._code, self._is_lost = int(said) if said else -signal.SIGKILL, not said
                self._status.close()
            return self._code


class _Child:
    """A process forked from this one, as much of `subprocess.Popen` as is needed of it."""

    def __init__(self, pid: int):
        self.pid = pid
        self._code: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        with self._lock:
            if self._code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self._code = os.waitstatus_to_exitcode(status) if pid else None
            return self._code

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("zygote", timeout or 0)
            time.sleep(_POLL_S)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _new_python(line: socket.socket, output: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start the zygote in a new Python."""
    folder = Path(tempfile.gettempdir())
    return subprocess.Popen(
        command("jaxguide.grading.workers.forking"),
        stdin=line.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=output,
        cwd=folder,
        # Its mark is of the length of a worker's, whose process overwrites it.
        env=environment(folder, "-" * len(new_token())),
        start_new_session=True,
    )


def fork_of_this(line: socket.socket, output: IO[bytes]) -> _Child:
    """Start the zygote by forking this process, which did `forking.prepare` and holds nobody's secrets."""
    from jaxguide.grading.workers.forking import serve_in_fork

    pid = os.fork()
    if pid == 0:
        serve_in_fork(line, output.fileno())
    return _Child(pid)


class Zygote:
    """A process that forks workers, from any thread of this one. It ends with this one, and all workers end with it.

    Args:
        start: starts its process, given its end of the line and where its errors go.

    Raises:
        ZygoteError: it does not start.
        UnfitError: it is not fit to be forked.
    """

    def __init__(self, start: "Callable[[socket.socket, IO[bytes]], subprocess.Popen[bytes] | _Child]" = _new_python):
        self.grader = os.getpid()
        self.own_bytes: int | None = None  # what a worker holds at its start and shares with no process, once known
        self._lock = threading.Lock()
        self._requests = 0
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed in `close`)
        try:
            with theirs:
                self._process = start(theirs, self._output)
        except OSError as error:
            self._socket.close()
            self._output.close()
            raise ZygoteError(_("The process that starts workers did not start: {said}").format(said=error)) from error
        try:
            ready = self._receive(_START_LIMIT_S)
            if ready.get("unfit"):
                message = _("The process that starts workers cannot be forked: {said}.")
                raise UnfitError(message.format(said=ready["unfit"]))
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ends_soon(self) -> bool:
        """Return whether it has ended, or does within a second."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_END_LIMIT_S)
        return not self.is_alive

    def spawn(self, scratch: Path, token: str, output: IO[bytes]) -> Process:
        """Fork a worker with its supervisor.

        Args:
            scratch: the worker's folder.
            token: the mark in its environment.
            output: where what it prints goes.

        Raises:
            ZygoteError: it could not be forked.
        """
        ours: list[int] = []
        theirs: list[int] = []
        try:
            for is_read_there in (True, False, False):
                reading, writing = os.pipe()
                theirs.append(reading if is_read_there else writing)
                ours.append(writing if is_read_there else reading)
            request: dict[str, object] = {"scratch": str(scratch), "environment": environment(scratch, token)}
            reply = self._ask(request, [*theirs, output.fileno()])
            if "error" in reply:
                raise ZygoteError(_("No worker could be forked: {said}").format(said=reply["error"]))
            writing, *others = ours
            ours.clear()
            stdout, status = (io.FileIO(descriptor, "rb") for descriptor in others)
            return Forked(self, int(str(reply["pid"])), io.FileIO(writing, "wb"), stdout, status)
        finally:
            for descriptor in (*ours, *theirs):
                os.close(descriptor)

    def _ask(self, request: dict[str, object], descriptors: list[int]) -> dict[str, object]:
        with self._lock:
            self._requests += 1
            data = json.dumps({"id": self._requests, **request}).encode("ascii")
            try:
                socket.send_fds(self._socket, [data], descriptors)
                while True:
                    reply = self._receive(_FORK_LIMIT_S)
                    if reply["id"] == self._requests:  # not the late reply to a request that was given up
                        return reply
            except TimeoutError as error:
                limit = _("The process that starts workers did not fork one within {limit:.0f} s.")
                raise ZygoteError(limit.format(limit=_FORK_LIMIT_S)) from error
            except OSError as error:
                raise ZygoteError(_("The process that starts workers has ended: {said}").format(said=error)) from error

    def _receive(self, limit_s: float) -> dict[str, object]:
        self._socket.settimeout(limit_s)
        data = self._socket.recv(MESSAGE_BYTES)
        if not data:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=2)
            self._output.seek(0)
            said = self._output.read().decode("utf-8", "replace").strip().splitlines()
            raise ZygoteError(
                said[-1] if said else _("it said nothing (exit code {code})").format(code=self._process.poll())
            )
        reply: dict[str, object] = json.loads(data)
        return reply

    def close(self) -> None:
        """End it, and with it every worker that it forked."""
        if self.grader != os.getpid():
            self._socket.close()
            return  # a fork of the grader's own: the zygote is not its child
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # from which it ends by itself, whoever else holds the socket
        self._socket.close()
        try:
            self._process.wait(timeout=_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()
