"""Limit what this process may use up by the system's own means, where it has them."""

import contextlib
import os
from pathlib import Path

# JAX's threads are a few for each processor; the rest is a student's.
_THREADS, _THREADS_PER_PROCESSOR = 512, 8
DESCRIPTORS = 512


def limit_counts(threads: int | None) -> None:
    """Limit how many files are open and how many threads run, and leave no core files. Before JAX starts.

    Args:
        threads: of this process's user together, in its namespace of users; None for no limit.
    """
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": DESCRIPTORS}
    if threads is not None:
        wanted["RLIMIT_NPROC"] = threads
    _set(wanted)


def own_threads() -> int:
    """Return how many threads a worker with a user of its own may have."""
    return _THREADS + _THREADS_PER_PROCESSOR * (os.cpu_count() or 1)


def shared_threads(others: int = 2000) -> int | None:
    """Return a limit for a worker whose user has other processes, which the system counts too.

    Args:
        others: room beyond the threads of now, so that no worker notices the next one.

    Returns:
        None where the system does not tell.
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
    return count + others


def limit(memory_bytes: int, file_bytes: int, cpu_s: int) -> None:
    """Limit memory, files and processor time of this process. After JAX started.

    Args:
        memory_bytes: address space beyond what is in use now. JAX should have started: its threads reserve much.
        file_bytes: the largest file that it may write.
        cpu_s: processor time after which the system ends it, should nobody else do so.
    """
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": file_bytes, "RLIMIT_CPU": cpu_s}
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
