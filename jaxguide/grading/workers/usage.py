"""Measure what a worker's process tree uses, and kill it."""

import contextlib
import dataclasses
import functools
import os
import re
import sys
import time
from pathlib import Path

import psutil

TOKEN_VARIABLE = "JAXGUIDE_WORKER"
BUSY_SHARE = 0.1
"""A process that computes for a smaller share of the time may be idle."""

_LINUX = sys.platform.startswith("linux")
_NO_FILES = re.compile(rb"^Rss(?:Anon|Shmem):\s*(\d+) kB", re.MULTILINE)
_FIRST_TIME, _TIMES = 11, 4  # positions in /proc/PID/stat after the process name


@dataclasses.dataclass
class Usage:
    """The resources that a process tree used since `start`."""

    cpu_s: float = 0.0
    idle_s: float = 0.0
    wall_s: float = 0.0
    memory_bytes: int = 0


class ProcessTree:
    """A process and its descendants.

    `total_cpu_s` is their processor time since the process began, and `peak_bytes` their peak memory, both as of the
    last sample. The memory does not include pages of libraries, or pages that a forked process still shares with the
    process it was forked from: ending the tree would not free them.

    Args:
        pid: the process id of the root.
        token: the token in the environment of all processes of the tree.
        can_fork: whether processes may be added after `start` with `base_memory`.
    """

    def __init__(self, pid: int, token: str, can_fork: bool = True):
        self.pid, self.token, self._can_fork = pid, token, can_fork
        self._all: list[psutil.Process] = []
        self.total_cpu_s, self.peak_bytes = 0.0, 0
        self._root = psutil.Process(pid)
        self._cpu_start = self._cpu_last = 0.0
        self._memory_start = self._own_start = 0
        self._idle_s = 0.0
        self._wall_start = self._wall_last = time.monotonic()
        self.start()

    def start(self, base_memory: bool = False, own_bytes: int | None = None) -> None:
        """Start measuring from zero.

        Args:
            base_memory: whether to treat the memory in use now as the memory that JAX needs.
            own_bytes: the part of this memory that is not shared with other processes, if known from a similar tree.
        """
        if base_memory and not self._can_fork:
            self._all = self.processes()
        cpu_s, memory = self._now()
        self._cpu_start = self._cpu_last = cpu_s
        if base_memory:
            self._memory_start = memory
            self.peak_bytes = self._own_start = self._own_bytes() if own_bytes is None else own_bytes
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
        if cpu_s - self._cpu_last < BUSY_SHARE * passed and not self._is_ready():
            self._idle_s += passed
        self._cpu_last, self._wall_last = max(cpu_s, self._cpu_last), now
        more = max(0, memory - self._memory_start)
        return Usage(max(0.0, cpu_s - self._cpu_start), self._idle_s, now - self._wall_start, more)

    def pids(self) -> list[int]:
        """Return the ids of the processes that exist now."""
        return [process.pid for process in self.processes()]

    def processes(self) -> list[psutil.Process]:
        """Return the root and its descendants, or an empty list if the root has ended."""
        with contextlib.suppress(psutil.Error):
            if not _lists_children():
                return [self._root, *self._root.children(recursive=True)]
            if not self._root.is_running():
                return []  # another process may have its id by now
            found = [self._root]
            for parent in found:
                for pid in _children(parent.pid):
                    with contextlib.suppress(psutil.Error):
                        found.append(psutil.Process(pid))
            return found
        return [self._root]

    def threads(self) -> int:
        """Return how many threads exist now."""
        count = 0
        for process in self._all or self.processes():
            with contextlib.suppress(psutil.Error, OSError):
                count += len(os.listdir(f"/proc/{process.pid}/task")) if _LINUX else process.num_threads()
        return count

    def _now(self) -> tuple[float, int]:
        cpu_s, memory = 0.0, 0
        for process in self._all or self.processes():
            with contextlib.suppress(psutil.Error):
                cpu_s += _cpu_s(process)
                memory += _memory_bytes(process)
        self.total_cpu_s = max(self.total_cpu_s, cpu_s)
        self.peak_bytes = max(self.peak_bytes, self._own_start + memory - self._memory_start)
        return cpu_s, memory

    def _own_bytes(self) -> int:
        """Return the memory not shared with other processes. This is slow, because the kernel visits every page."""
        own = 0
        for process in self.processes():
            try:
                own += process.memory_full_info().uss
            except psutil.AccessDenied:
                own += process.memory_info().rss
            except psutil.Error:
                continue
        return own

    def _is_ready(self) -> bool:
        """Return whether a thread of the tree is running, ready to run, or waiting for a disk."""
        for process in self._all or self.processes():
            with contextlib.suppress(psutil.Error, OSError):
                if has_ready_thread(process.pid):
                    return True
        return False

    def kill(self) -> None:
        """Kill the tree, and wait until all of its processes have ended.

        The root is killed last: as long as it lives, it adopts each orphan, which is then found among its children.
        """
        for _attempt in range(50):
            living = self._living()
            # Only if the root has already ended may a process have escaped from the tree.
            strays = [one for one in living if one.pid != self.pid] or living
            if not strays and self._can_fork:
                strays = self._bearing_token()
            for process in strays:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            if not strays:
                return
            psutil.wait_procs(strays, timeout=1)

    def _living(self) -> list[psutil.Process]:
        return [p for p in self.processes() if _is_living(p)]

    def _bearing_token(self) -> list[psutil.Process]:
        """Find processes by the token in their environment, which children inherit and daemons keep."""
        mark = f"{TOKEN_VARIABLE}={self.token}".encode()
        found = []
        for pid in psutil.pids():
            with contextlib.suppress(psutil.Error, OSError):
                if _LINUX:
                    marked = mark in Path(f"/proc/{pid}/environ").read_bytes()
                else:
                    marked = psutil.Process(pid).environ().get(TOKEN_VARIABLE) == self.token
                if marked and _is_living(process := psutil.Process(pid)):
                    found.append(process)
        return found


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


def _cpu_s(process: psutil.Process) -> float:
    """Return the processor time of a process and its ended children."""
    if _LINUX:
        with contextlib.suppress(OSError):
            found = _read_proc(process.pid, "stat").rpartition(b")")[2].split()
            return sum(map(int, found[_FIRST_TIME : _FIRST_TIME + _TIMES])) / _ticks_in_a_second()
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


@functools.cache
def _ticks_in_a_second() -> int:
    return os.sysconf("SC_CLK_TCK")


def _read_proc(pid: int, name: str) -> bytes:
    """Read a file in /proc/PID. This runs several times per request to a worker, so it uses the fastest way."""
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 2**16)
    finally:
        os.close(descriptor)


def _memory_bytes(process: psutil.Process) -> int:
    """Return the resident memory without file pages, such as libraries, which the kernel can drop and read again."""
    if _LINUX:
        with contextlib.suppress(OSError, ValueError):
            status = _read_proc(process.pid, "status")
            if found := _NO_FILES.findall(status):  # missing for zombies and before Linux 4.5
                return 1024 * sum(map(int, found))
    return int(process.memory_info().rss)


def _children(pid: int) -> list[int]:
    """Return the ids of the children of all threads of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


@functools.cache
def _lists_children() -> bool:
    """Return whether the kernel lists a process's children, which saves looking at every process on the machine."""
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def _is_living(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
