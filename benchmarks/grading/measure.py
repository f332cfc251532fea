"""Run a command and measure it with all its descendants: processor time, wall time, memory, orphans."""

import contextlib
import ctypes
import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

_POLL_S = 0.05
_PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass
class Used:
    """The resources that a command used.

    Args:
        cpu_s: user and system seconds, including descendants.
        wall_s: seconds of wall time.
        peak_bytes: the peak resident memory of all its processes together.
        process_bytes: the peak resident memory of one of its descendants, 0 if it had none.
        orphans: the number of processes still running when it ended, which were then killed.
        timed_out: whether it was killed at the time limit.
        status: its exit status.
        said: the end of its output.
    """

    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_bytes: int = 0
    process_bytes: int = 0
    orphans: int = 0
    timed_out: bool = False
    status: int = 0
    said: str = ""


def adopt_orphans() -> None:
    """Adopt all orphans below this process, so that they are counted; this works on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children_cpu_s() -> float:
    now = os.times()
    return now.children_user + now.children_system


def measured(command: Sequence[str], folder: Path, environment: Mapping[str, str], limit_s: float) -> Used:
    """Run a command until it ends or reaches its limit, and return the resources that it used.

    Call `adopt_orphans` first. Run one command at a time, since processor time is that of all children waited for.
    """
    used, before, started = Used(), _children_cpu_s(), time.monotonic()
    log = folder / "said.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ended = threading.Event()
        watch = threading.Thread(target=_watch_memory, args=(process.pid, used, ended))
        watch.start()
        try:
            used.status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            used.timed_out = True
        used.wall_s = time.monotonic() - started
        ended.set()
        watch.join()
        left = psutil.Process().children(recursive=True)
        if not used.timed_out:
            used.orphans = sum(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in left)
        for one in left:
            with contextlib.suppress(psutil.Error):
                one.kill()
        if used.timed_out:
            used.status = process.wait()
        _reap()
    used.cpu_s = _children_cpu_s() - before
    with log.open("rb") as said:
        said.seek(max(0, log.stat().st_size - 3000))
        used.said = said.read().decode(errors="replace")
    log.unlink()
    return used


def _watch_memory(pid: int, used: Used, ended: threading.Event) -> None:
    while not ended.wait(_POLL_S):
        total = 0
        for one in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                size = one.memory_info().rss
                total += size
                if one.pid != pid:
                    used.process_bytes = max(used.process_bytes, size)
        used.peak_bytes = max(used.peak_bytes, total)


def _reap() -> None:
    """Wait for orphans that were killed."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
        except ChildProcessError:
            return
