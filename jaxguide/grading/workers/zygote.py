"""Start workers by forking the zygote, a process that has already imported JAX, from the grader's side.

Importing a worker's modules takes longer than running most submissions. The zygote imports them once. It has a single
thread and does not start a backend: a process forked after that hangs.
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

from jaxguide.grading.workers.processes import MESSAGE_BYTES, Process, command, environment

_START_LIMIT_S = 300.0
_FORK_LIMIT_S = 60.0
_END_LIMIT_S = 1.0
_POLL_S = 0.005


class ZygoteError(OSError):
    """The zygote does not start, has ended, or failed to fork."""


class UnfitError(ZygoteError):
    """The zygote's imports start threads or a backend on this machine, so its forks would hang."""


def new_token() -> str:
    """Return a unique token for a worker; all tokens of one grader have the same length."""
    return f"{os.getpid()}-{os.urandom(16).hex()}"


class Forked:
    """A worker's supervisor, forked by a zygote. It is not a child of this process, and reports its end through a pipe.

    Args:
        zygote: the zygote that forked it.
        pid: the supervisor's process id.
        stdin, stdout: the grader's ends of the worker's pipes.
        status: the pipe to which the supervisor writes the worker's exit code; empty if the supervisor was killed.
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
        """Whether it ended because the zygote ended, which may become visible a moment later."""
        self.poll()
        return not self.zygote.is_alive or (self._is_lost and self.zygote.ends_soon())

    def poll(self) -> int | None:
        """Return the exit code as in `subprocess.Popen`, or None while it is running."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the worker to end, and return its exit code.

        Raises:
            subprocess.TimeoutExpired: the worker is still running after `timeout` seconds.
        """
        with self._lock:
            if self._code is None:
                ready = select.poll()  # unlike `select`, it supports descriptors above 1023
                ready.register(self._status, select.POLLIN)
                if not ready.poll(None if timeout is None else 1000 * timeout):
                    raise subprocess.TimeoutExpired("worker", timeout or 0)
                said = self._status.read(16)
                self._code, self._is_lost = int(said) if said else -signal.SIGKILL, not said
                self._status.close()
            return self._code


class _Child:
    """A process forked from this one, with the part of the `subprocess.Popen` interface that a zygote needs."""

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
        # A placeholder as long as a worker's token, which overwrites it in each fork.
        env=environment(folder, "-" * len(new_token())),
        start_new_session=True,
    )


def fork_of_this(line: socket.socket, output: IO[bytes]) -> _Child:
    """Start the zygote by forking this process, which has called `forking.prepare` and must not contain secrets."""
    from jaxguide.grading.workers.forking import serve_in_fork

    pid = os.fork()
    if pid == 0:
        serve_in_fork(line, output.fileno())
    return _Child(pid)


class Zygote:
    """A process that forks workers. It ends with this process, and all workers end with it. Threads may share it.

    Args:
        start: starts the process, given its end of the socket and the file for its error messages.

    Raises:
        ZygoteError: the process does not start.
        UnfitError: the process cannot be forked safely.
    """

    def __init__(self, start: "Callable[[socket.socket, IO[bytes]], subprocess.Popen[bytes] | _Child]" = _new_python):
        self.grader = os.getpid()
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
            raise ZygoteError(f"The process that starts workers did not start: {error}") from error
        try:
            ready = self._receive(_START_LIMIT_S)
            if ready.get("unfit"):
                message = "The process that starts workers cannot be forked: {said}."
                raise UnfitError(message.format(said=ready["unfit"]))
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ends_soon(self) -> bool:
        """Return whether it has ended, or ends within a second."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_END_LIMIT_S)
        return not self.is_alive

    def spawn(self, scratch: Path, token: str, output: IO[bytes]) -> Process:
        """Fork a worker with its supervisor.

        Args:
            scratch: the worker's folder.
            token: the token in the worker's environment.
            output: the file for the worker's output.

        Raises:
            ZygoteError: the worker could not be forked.
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
                raise ZygoteError("No worker could be forked: {said}".format(said=reply["error"]))
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
                    if reply["id"] == self._requests:  # skip late replies to requests that timed out
                        return reply
            except TimeoutError as error:
                limit = "The process that starts workers did not fork a worker within {limit:.0f} s."
                raise ZygoteError(limit.format(limit=_FORK_LIMIT_S)) from error
            except OSError as error:
                raise ZygoteError(f"The process that starts workers has ended: {error}") from error

    def _receive(self, limit_s: float) -> dict[str, object]:
        self._socket.settimeout(limit_s)
        data = self._socket.recv(MESSAGE_BYTES)
        if not data:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=2)
            self._output.seek(0)
            said = self._output.read().decode("utf-8", "replace").strip().splitlines()
            raise ZygoteError(said[-1] if said else f"it printed nothing (exit code {self._process.poll()})")
        reply: dict[str, object] = json.loads(data)
        return reply

    def close(self) -> None:
        """Stop the zygote and all workers that it forked."""
        if self.grader != os.getpid():
            self._socket.close()
            return  # in a fork of the grader, the zygote is not a child
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # makes the zygote end, even if other processes hold the socket
        self._socket.close()
        try:
            self._process.wait(timeout=_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()
