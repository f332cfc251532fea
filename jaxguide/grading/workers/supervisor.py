"""Keep a worker's process tree together with a small parent process that adopts orphans and ends with the worker."""

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

from jaxguide.grading.isolation.privileges import end_with_parent

_PR_SET_CHILD_SUBREAPER = 36


def supervise(pipes: tuple[int, int], status: int | None = None) -> None:
    """Fork: the child returns and continues as the worker; this process waits for it and ends the same way.

    If a process of the submission leaves its session and its parent, this process adopts it instead of init. So it is
    found and killed even if it changed its environment. On systems other than Linux, nothing happens.

    Args:
        pipes: descriptors that only the worker keeps open, so that the grader sees them close when the worker ends.
        status: the descriptor to which this process writes the worker's exit code, if it is not a child of the grader.
    """
    if not sys.platform.startswith("linux"):
        return
    prctl = ctypes.CDLL(None).prctl
    if prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        return
    supervisor = os.getpid()
    worker = os.fork()
    if worker == 0:
        end_with_parent(supervisor)
        if status is not None:
            os.close(status)
        return
    for descriptor in pipes:
        os.close(descriptor)
    ended = _wait_for(worker)
    _end_orphans()
    if status is not None:
        os.write(status, str(os.waitstatus_to_exitcode(ended)).encode())
    _end_as(ended)


def _wait_for(worker: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == worker:
            return status


def _end_orphans() -> None:
    while children := _children():
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.wait()


def _children() -> list[str]:
    try:
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except OSError:  # the kernel does not list children; the grader finds them by their token
        return []


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)
