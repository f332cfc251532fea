"""Start workers the best way that this machine has: forked from a zygote, or each in a new Python."""

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
"""Starts a worker's process from its scratch folder, the mark in its environment, and where its output goes."""

_lock = threading.Lock()
_zygote: Zygote | None = None
_is_unfit = False


def can_fork() -> bool:
    """Return whether this system lets workers be forked: elsewhere than on Linux a fork of JAX's parts is not safe."""
    return sys.platform.startswith("linux") and hasattr(os, "fork") and hasattr(socket, "send_fds")


def forked_process(scratch: Path, token: str, output: IO[bytes]) -> Process:
    """Start a worker by forking this process's zygote, which is started at the first call, and again should it end.

    Where it turns out not to be fit to be forked, workers are fresh processes.

    Args:
        scratch: the worker's folder.
        token: the mark in its environment.
        output: where what it prints goes.

    Raises:
        ZygoteError: there is no zygote, and none can be started.
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
    """Return this process's zygote.

    Raises:
        ZygoteError: it does not start.
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
    """Fork this process's zygote from it, after `forking.prepare` and before it has read anything.

    Where it is not fit to be forked, workers are fresh processes; where it cannot be forked, it is started later.
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
    """End this process's zygote, should there be one."""
    global _zygote
    with _lock:
        if _zygote is not None:
            _zygote.close()
            _zygote = None


def default_spawn() -> Spawn:
    """Return how workers start here: forked where that is possible, else each in a new Python."""
    return forked_process if can_fork() else fresh_process
