"""Start workers in the fastest way that the machine supports: forked from the zygote, or each in a new Python.

Importing a worker's modules takes longer than running most submissions. The zygote, a process of its own, imports them
once. It has a single thread and does not start a backend: a process forked after that hangs.
"""

import atexit
import contextlib
import functools
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from jaxguide.grading.workers.processes import FIT, MESSAGE_BYTES, NUMBER, command, environment

_START_LIMIT_S = 300.0
_FORK_LIMIT_S = 60.0
_END_LIMIT_S = 1.0


class ZygoteError(OSError):
    """The zygote does not start, has ended, or failed to fork."""


class UnfitError(ZygoteError):
    """The zygote's imports start threads or a backend on this machine, so its forks would hang."""


class Forked:
    """A worker forked by a zygote. It is not a child of this process; the zygote reports its end through a pipe.

    Args:
        zygote: the zygote that was asked to fork it.
        stdin, stdout: the grader's ends of the worker's pipes.
        status: the pipe to which the zygote writes the worker's process id, or the negative number of an error, and
            when it has ended its exit code; empty if the zygote ended before.

    Raises:
        ZygoteError: the worker was not forked.
    """

    def __init__(self, zygote: "Zygote", stdin: io.FileIO, stdout: io.FileIO, status: io.FileIO):
        self.zygote, self.stdin, self.stdout, self._status = zygote, stdin, stdout, status
        self._code: int | None = None
        self._lock = threading.Lock()
        if not _is_ready(status.fileno(), _FORK_LIMIT_S):
            raise ZygoteError(f"The process that starts workers did not fork a worker within {_FORK_LIMIT_S:.0f} s.")
        said = status.read(NUMBER.size)
        if not said:
            raise ZygoteError("The process that starts workers has ended.")
        (self.pid,) = NUMBER.unpack(said)
        if self.pid < 0:
            raise ZygoteError(f"No worker could be forked: {os.strerror(-self.pid)}")

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
                if not _is_ready(self._status.fileno(), timeout):
                    raise subprocess.TimeoutExpired("worker", timeout or 0)
                said = self._status.read(NUMBER.size)
                self._code = NUMBER.unpack(said)[0] if said else -signal.SIGKILL
                self._status.close()
            return self._code


Process = subprocess.Popen[bytes] | Forked
Spawn = Callable[[Path, IO[bytes]], Process]
"""Start a worker's process, given its scratch folder and the file for its output."""


def _is_ready(descriptor: int, timeout_s: float | None) -> bool:
    """Return whether a descriptor can be read, or the process that it stands for has ended, within a time."""
    ready = select.poll()  # unlike `select`, it supports descriptors above 1023
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(None if timeout_s is None else 1000 * timeout_s))


def _pipe() -> tuple[io.FileIO, io.FileIO]:
    reading, writing = os.pipe()
    return io.FileIO(reading, "rb"), io.FileIO(writing, "wb")


class Zygote:
    """A process that forks workers. It ends with this process, and all workers end with it. Threads may share it.

    Args:
        is_fork: whether to fork this process, which has called `forking.prepare` and must not contain secrets;
            otherwise the zygote is a new Python.

    Raises:
        ZygoteError: the process does not start.
        UnfitError: the process cannot be forked safely.
    """

    def __init__(self, is_fork: bool = False):
        self.grader = os.getpid()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed in `close`)
        try:
            with theirs:
                self.pid = self._start(theirs, is_fork)
            self._process = os.pidfd_open(self.pid)
        except OSError as error:
            self._socket.close()
            self._output.close()
            raise ZygoteError(f"The process that starts workers did not start: {error}") from error
        try:
            if not _is_ready(self._socket.fileno(), _START_LIMIT_S):
                raise ZygoteError(f"The process that starts workers did not start within {_START_LIMIT_S:.0f} s.")
            if not (said := self._socket.recv(MESSAGE_BYTES)):
                self.ends_soon()
                self._output.seek(0)
                lines = self._output.read().decode("utf-8", "replace").strip().splitlines()
                raise ZygoteError(lines[-1] if lines else "it printed nothing")
            if said != FIT:
                raise UnfitError(f"The process that starts workers cannot be forked: {said.decode()}.")
        except BaseException:
            self.close()
            raise

    def _start(self, line: socket.socket, is_fork: bool) -> int:
        if is_fork:
            from jaxguide.grading.workers import forking

            pid = os.fork()
            if pid == 0:
                try:
                    os.setsid()
                    forking.serve(line, self._output.fileno())
                finally:
                    os._exit(1)
            return pid
        program = command("jaxguide.grading.workers.forking")
        variables = environment(Path(tempfile.gettempdir()))
        files = [(os.POSIX_SPAWN_DUP2, line.fileno(), 0), (os.POSIX_SPAWN_DUP2, self._output.fileno(), 2)]
        return os.posix_spawn(program[0], program, variables, file_actions=files)

    @property
    def is_alive(self) -> bool:
        return not self.ends_soon(0)

    def ends_soon(self, limit_s: float = _END_LIMIT_S) -> bool:
        """Return whether it has ended, or ends within this time."""
        return self._process < 0 or _is_ready(self._process, limit_s)

    def spawn(self, scratch: Path, output: IO[bytes]) -> Process:
        """Fork a worker.

        Args:
            scratch: the worker's folder.
            output: the file for the worker's output.

        Raises:
            ZygoteError: the worker could not be forked.
        """
        request = json.dumps({"scratch": str(scratch), "environment": environment(scratch)}).encode("ascii")
        (incoming, stdin), (stdout, outgoing), (told, status) = (_pipe() for _each in range(3))
        try:
            with incoming, outgoing, status:
                descriptors = [one.fileno() for one in (incoming, outgoing, output, status)]
                socket.send_fds(self._socket, [request], descriptors)
            return Forked(self, stdin, stdout, told)
        except OSError as error:
            for pipe in (stdin, stdout, told):
                pipe.close()
            if isinstance(error, ZygoteError):
                raise
            raise ZygoteError(f"The process that starts workers has ended: {error}") from error

    def close(self) -> None:
        """Stop the zygote and all workers that it forked."""
        if self.grader != os.getpid():
            self._socket.close()
            return  # in a fork of the grader, the zygote is not a child
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # makes the zygote end, even if other processes hold the socket
        self._socket.close()
        if not self.ends_soon():
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self._process)
        self._process = -1
        self._output.close()


_lock = threading.Lock()
_zygote: Zygote | None = None
_is_unfit = False


@functools.cache
def can_fork() -> bool:
    """Return whether workers can be forked: forking a process with JAX's libraries is safe on Linux only."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))  # from Linux 5.3
    except OSError:
        return False
    return True


def fresh_process(scratch: Path, output: IO[bytes]) -> Process:
    """Start a worker in a new Python, which has to import everything it needs.

    Args:
        scratch: the worker's folder.
        output: the file for the worker's output.

    Raises:
        OSError: the process does not start.
    """
    return subprocess.Popen(
        command("jaxguide.grading.workers.worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=output,
        bufsize=0,
        close_fds=True,
        cwd=scratch,
        env=environment(scratch),
        start_new_session=True,
    )


def start_worker(scratch: Path, output: IO[bytes]) -> Process:
    """Start a worker, forked from the zygote if possible, otherwise in a new Python.

    Args:
        scratch: the worker's folder.
        output: the file for the worker's output.

    Raises:
        OSError: the worker, or the zygote, does not start.
    """
    zygote = the_zygote()
    if zygote is not None:
        try:
            return zygote.spawn(scratch, output)
        except ZygoteError:
            if not zygote.ends_soon():
                raise
        zygote = the_zygote()
    return (fresh_process if zygote is None else zygote.spawn)(scratch, output)


def the_zygote(is_fork: bool = False) -> Zygote | None:
    """Return this process's zygote, which is started if there is none or it has ended, or None if it cannot be forked.

    Args:
        is_fork: see `Zygote`.

    Raises:
        ZygoteError: the zygote does not start.
    """
    global _zygote, _is_unfit
    with _lock:
        if _zygote is not None and (_zygote.grader != os.getpid() or not _zygote.is_alive):
            _zygote.close()
            _zygote = None
        if _zygote is None and can_fork() and not _is_unfit:
            try:
                _zygote = Zygote(is_fork)
            except UnfitError:
                _is_unfit = True
        return _zygote


@atexit.register
def close_zygote() -> None:
    """Stop this process's zygote, if there is one."""
    global _zygote
    with _lock:
        if _zygote is not None:
            _zygote.close()
            _zygote = None
