"""Limit this process's use of resources with the operating system's resource limits, if it has them."""

import contextlib
import os
from pathlib import Path

# JAX starts a few threads per processor; the rest are for the student's code.
_THREADS, _THREADS_PER_PROCESSOR = 512, 8
# Room beyond the current threads, so that workers do not get in each other's way.
_SPARE_THREADS = 2000
DESCRIPTORS = 512


def limit_counts(threads: int | None, cpu_s: int | None = None) -> None:
    """Limit the open files, threads and processor time, and write no core files. Call this before JAX starts.

    Args:
        threads: how many threads this process's user may have in its user namespace; None for no limit.
        cpu_s: processor time after which the system kills this process, if the grader has not done so; None for no
            limit. The seccomp filter refuses to set it later.
    """
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": DESCRIPTORS}
    if cpu_s is not None:
        wanted["RLIMIT_CPU"] = cpu_s
    if threads is not None:
        wanted["RLIMIT_NPROC"] = threads
    _set(wanted)


def own_threads() -> int:
    """Return how many threads a worker with its own user may have."""
    return _THREADS + _THREADS_PER_PROCESSOR * (os.cpu_count() or 1)


def shared_threads() -> int | None:
    """Return a limit for a worker whose user has other processes, which the system counts too.

    Returns:
        The limit, or None if the system does not tell how many threads there are.
    """
    user, count = os.getuid(), 0
    try:
        for process in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if process.name.isdigit() and process.stat().st_uid == user:
                    fields = (process / "stat").read_text().rpartition(")")[2].split()
                    count += int(fields[17])
    except OSError:
        return None
    return count + _SPARE_THREADS


def limit(memory_bytes: int, file_bytes: int) -> None:
    """Limit this process's memory and file size. Call this after JAX has started.

    Args:
        memory_bytes: address space beyond what is in use now, of which JAX's threads reserve a lot.
        file_bytes: the size of the largest file that it may write.
    """
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": file_bytes}
    used = _address_space_bytes()
    if used is not None:
        wanted["RLIMIT_AS"] = used + memory_bytes
    _set(wanted)


def _set(wanted: dict[str, int]) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, value in wanted.items():
        with contextlib.suppress(AttributeError, OSError, ValueError):
            kind = getattr(resource, name)
            highest = resource.getrlimit(kind)[1]
            kept = value if highest == resource.RLIM_INFINITY else min(value, highest)
            resource.setrlimit(kind, (kept, kept))


def _address_space_bytes() -> int | None:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
