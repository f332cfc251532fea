"""Start workers the best way that this machine has: forked from a zygote, inside bubblewrap or not, or each anew."""

import atexit
import functools
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from jaxguide.grading.processes import Process, fresh_process
from jaxguide.grading.zygote import Forked, UnfitError, Zygote, ZygoteError

Spawn = Callable[[Path, str, IO[bytes]], Process]
"""Starts a worker's process from its scratch folder, the mark in its environment, and where its output goes."""

Around = tuple[str, ...]

_lock = threading.Lock()
_zygotes: dict[Around, Zygote] = {}
_do_not_start: set[Around] = set()
_unfit = ""


def can_fork() -> bool:
    """Return whether this system lets workers be forked: elsewhere than on Linux a fork of JAX's parts is not safe."""
    return sys.platform.startswith("linux") and hasattr(os, "fork") and hasattr(socket, "send_fds")


def forked_process(scratch: Path, token: str, output: IO[bytes], around: Around = ()) -> Process:
    """Start a worker by forking this process's zygote, which is started at the first call, and again should it end.

    Where it does not start inside bubblewrap, it starts without; where it turns out not to be fit to be forked, workers
    are fresh processes.

    Args:
        scratch: the worker's folder.
        token: the mark in its environment.
        output: where what it prints goes.
        around: what to put before the zygote's command, to start it inside bubblewrap.

    Raises:
        ZygoteError: there is no zygote, and none can be started.
    """
    zygote = None if _unfit else _fit_zygote(around)
    if zygote is None:
        return fresh_process(scratch, token, output)
    try:
        return zygote.spawn(scratch, token, output)
    except ZygoteError:
        if not zygote.ends_soon():
            raise
    return the_zygote(zygote.around).spawn(scratch, token, output)


def _fit_zygote(around: Around) -> Zygote | None:
    global _unfit
    try:
        if around and around not in _do_not_start:
            try:
                return the_zygote(around)
            except UnfitError:
                raise
            except ZygoteError:
                _do_not_start.add(around)
        return the_zygote()
    except UnfitError as error:
        _unfit = str(error)
        return None


def the_zygote(around: Around = ()) -> Zygote:
    """Return this process's zygote, or the one inside bubblewrap that is started so.

    Raises:
        ZygoteError: it does not start.
    """
    with _lock:
        found = _zygotes.get(around)
        if found is not None and (found.grader != os.getpid() or not found.is_alive):
            _zygotes.pop(around).close()
            found = None
        if found is None:
            found = _zygotes[around] = Zygote(around)
        return found


@atexit.register
def close() -> None:
    """End this process's zygotes, should there be any."""
    with _lock:
        while _zygotes:
            _zygotes.popitem()[1].close()


def default_spawn(around: Around = ()) -> Spawn:
    """Return how workers start here: forked where that is possible, else each in a new Python.

    Args:
        around: what puts a zygote's command inside bubblewrap; nothing where workers are to be without it.
    """
    return functools.partial(forked_process, around=around) if can_fork() else fresh_process


def is_inside(process: Process) -> bool:
    """Return whether a worker was started inside bubblewrap."""
    return isinstance(process, Forked) and bool(process.zygote.around)
