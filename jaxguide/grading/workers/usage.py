"""Measure what a worker's process tree uses, and kill it."""

import contextlib
import dataclasses
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

BUSY_SHARE = 0.1
"""A process that computes for a smaller share of the time may be idle."""

_LINUX = sys.platform.startswith("linux")
_NO_FILES = re.compile(rb"^Rss(?:Anon|Shmem):\s*(\d+) kB", re.MULTILINE)


@dataclasses.dataclass
class Usage:
    """The resources that a process tree used since `start`."""

    cpu_s: float = 0.0
    idle_s: float = 0.0
    wall_s: float = 0.0
    memory_bytes: int = 0


class ProcessTree:
    """A process and its descendants.

    `total_cpu_s` is their processor time since the process began, and `peak_bytes` the most memory that they needed
    beyond what `start` took as the base, both as of the last sample. Pages of libraries do not count.

    Args:
        pid: the process id of the root.
        can_fork: whether it may have descendants.
    """

    def __init__(self, pid: int, can_fork: bool = True):
        self.pid, self._can_fork = pid, can_fork
        self._root = psutil.Process(pid)
        self.total_cpu_s, self.peak_bytes = 0.0, 0
        self._base_bytes: int | None = None
        self._cpu_start = self._cpu_last = self._idle_s = 0.0
        self._wall_start = self._wall_last = time.monotonic()

    def start(self, base_memory: bool = False) -> None:
        """Start measuring from zero.

        Args:
            base_memory: whether to treat the memory in use now as the memory that JAX needs.
        """
        cpu_s, memory = self._now()
        if base_memory:
            self._base_bytes = memory
        self._cpu_start = self._cpu_last = cpu_s
        self._idle_s = 0.0
        self._wall_start = self._wall_last = time.monotonic()

    def leave_out_since(self, moment: float) -> None:
        """Leave the time since `moment` out of idle and elapsed time, because the processes were not asked anything.

        Args:
            moment: a time of `time.monotonic`.
        """
        now = time.monotonic()
        self._wall_start += now - max(moment, self._wall_start)
        self._wall_last = now

    def sample(self) -> Usage:
        """Return the resources used since `start`.

        Time counts as idle if no thread computes or is ready to. A thread that waits for a processor is ready, so load
        on the machine does not make a submission idle.
        """
        cpu_s, memory = self._now()
        now = time.monotonic()
        passed = now - self._wall_last
        if cpu_s - self._cpu_last < BUSY_SHARE * passed and not self._sum(
            lambda process: has_ready_thread(process.pid)
        ):
            self._idle_s += passed
        self._cpu_last, self._wall_last = max(cpu_s, self._cpu_last), now
        more = 0 if self._base_bytes is None else max(0, memory - self._base_bytes)
        self.peak_bytes = max(self.peak_bytes, more)
        return Usage(max(0.0, cpu_s - self._cpu_start), self._idle_s, now - self._wall_start, more)

    def processes(self) -> list[psutil.Process]:
        """Return the root and its descendants, which it has only if it can fork."""
        if self._can_fork:
            with contextlib.suppress(psutil.Error):
                return [self._root, *self._root.children(recursive=True)]
        return [self._root]

    def threads(self) -> int:
        """Return how many threads exist now."""
        return int(self._sum(psutil.Process.num_threads))

    def _now(self) -> tuple[float, int]:
        cpu_s, memory = self._sum(lambda process: sum(process.cpu_times()[:4])), self._sum(_memory_bytes)
        self.total_cpu_s = max(self.total_cpu_s, cpu_s)
        return cpu_s, int(memory)

    def _sum(self, measure: Callable[[psutil.Process], float]) -> float:
        """Return the sum of a measure of all processes that exist."""
        total = 0.0
        for process in self.processes():
            with contextlib.suppress(psutil.Error, OSError):
                total += measure(process)
        return total

    def kill(self) -> None:
        """Kill the tree and what is left of its process group, and wait until they have ended."""
        for _attempt in range(50):
            living = [process for process in self.processes() if _is_living(process)]
            for process in living:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            if not living:
                return
            if self._can_fork and hasattr(os, "killpg") and self._root.is_running():  # its id is not another's by now
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)  # orphans, whose parent is another process
            psutil.wait_procs(living, timeout=1)


def has_ready_thread(pid: int, other_than: int | None = None) -> bool:
    """Return whether a thread of a process is running, ready to run, or waiting for a disk.

    Args:
        pid: the process's id.
        other_than: the id of a thread that does not count, such as the one that asks. On Linux only.
    """
    if not _LINUX:
        return psutil.Process(pid).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    tasks = Path(f"/proc/{pid}/task")
    for task in os.listdir(tasks):
        if int(task) != other_than:
            with contextlib.suppress(OSError):  # the thread has ended
                state = Path(tasks, task, "stat").read_text().rpartition(")")[2].split()[0]
                if state in ("R", "D"):
                    return True
    return False


def _memory_bytes(process: psutil.Process) -> int:
    """Return the resident memory without file pages, such as libraries, which the kernel can drop and read again."""
    if _LINUX:
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process.pid}/status").read_bytes()
            if found := _NO_FILES.findall(status):  # missing for zombies
                return 1024 * sum(map(int, found))
    return int(process.memory_info().rss)


def _is_living(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
