"""Start workers in the fastest way that the machine supports: forked from a zygote, or each in a new Python."""

import atexit
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from jaxguide.grading.workers.processes import Process, fresh_process
from jaxguide.grading.workers.zygote import UnfitError, Zygote, ZygoteError, fork_of_this

Spawn = Callable[[Path, str, IO[bytes]], Process]
"""Start a worker's process, given its scratch folder, the token in its environment, and the file for its output."""

_lock = threading.Lock()
_zygote: Zygote | None = None
_is_unfit = False


def can_fork() -> bool:
    """Return whether workers can be forked: forking a process with JAX's libraries is safe on Linux only."""
    return sys.platform.startswith("linux") and hasattr(os, "fork") and hasattr(socket, "send_fds")


def forked_process(scratch: Path, token: str, output: IO[bytes]) -> Process:
    """Start a worker by forking the zygote, which is started on the first call, and again if it has ended.

    If the zygote cannot be forked safely, start the worker in a new Python instead.

    Args:
        scratch: the worker's folder.
        token: the token in the worker's environment.
        output: the file for the worker's output.

    Raises:
        ZygoteError: the zygote cannot be started, or cannot fork.
    """
    global _is_unfit
    if _is_unfit:
        return fresh_process(scratch, token, output)
    try:
        zygote = the_zygote()
    except UnfitError:
        _is_unfit = True
        return fresh_process(scratch, token, output)
    try:
        return zygote.spawn(scratch, token, output)
    except ZygoteError:
        if not zygote.ends_soon():
            raise
    return the_zygote().spawn(scratch, token, output)


def the_zygote() -> Zygote:
    """Return this process's zygote, starting it if needed.

    Raises:
        ZygoteError: the zygote does not start.
    """
    global _zygote
    with _lock:
        if _zygote is not None and (_zygote.grader != os.getpid() or not _zygote.is_alive):
            _zygote.close()
            _zygote = None
        if _zygote is None:
            _zygote = Zygote()
        return _zygote


def fork_zygote() -> None:
    """Fork this process to create its zygote. Call this after `forking.prepare` and before reading any secrets.

    If the zygote cannot be forked safely, workers start in a new Python. If this fork fails, the zygote starts later.
    """
    global _zygote, _is_unfit
    if can_fork():
        try:
            _zygote = Zygote(fork_of_this)
        except UnfitError:
            _is_unfit = True
        except ZygoteError:
            return


@atexit.register
def close() -> None:
    """Stop this process's zygote, if there is one."""
    global _zygote
    with _lock:
        if _zygote is not None:
            _zygote.close()
            _zygote = None


def default_spawn() -> Spawn:
    """Return how workers start on this system: forked if possible, otherwise each in a new Python."""
    return forked_process if can_fork() else fresh_process
