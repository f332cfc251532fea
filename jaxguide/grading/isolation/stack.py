"""Enter the parts that isolate a worker, in an order in which each still allows the next."""

import contextlib
import dataclasses
import functools
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from importlib.machinery import FileFinder
from pathlib import Path
from typing import Any

from jaxguide.grading.isolation import landlock, privileges, rlimits, seccomp

UNPRIVILEGED, LANDLOCK, SECCOMP = "an unprivileged user", "Landlock", "seccomp"
_SYSTEM_READABLE = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/usr/share/fonts"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/dev/urandom", "/dev/random", "/dev/zero"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/sys/vm"),
    *("/sys/devices/system", "/sys/fs/cgroup"),
)


@dataclasses.dataclass(frozen=True)
class Isolation:
    """How this machine isolates submissions. Limits on memory, files, threads and time apply in any case.

    Args:
        parts: which of `UNPRIVILEGED`, `LANDLOCK` and `SECCOMP` a worker enters.
        missing: what does not hold, and why; empty if isolation is complete.
        reads_as_root: whether workers keep root's right to look into folders, because Python or the folder for
            temporary files is in one that only root may enter. They still see only what Landlock shows.
    """

    parts: tuple[str, ...] = (UNPRIVILEGED, LANDLOCK, SECCOMP)
    missing: tuple[str, ...] = ()
    reads_as_root: bool = False


class PartMissing(OSError):
    """The system refuses a part of the isolation; the arguments are the part's name and why."""


def enter(isolation: Isolation, config: dict[str, Any]) -> None:
    """Enter the parts, irrevocably, in the worker, before it starts threads and JAX's backend.

    With all parts, the process then has no special rights, sees only Python, the system's libraries and its scratch
    folder, and can start nothing but threads.

    Args:
        isolation: what `find_isolation` returned.
        config: 'hidden', the folders and files that must not be seen; 'scratch', the folder that the worker may write
            to; and optionally 'unlisted', folders whose files can be opened by name but not listed, 'cpu_s', processor
            time after which the system kills it, and 'landlock_version', the newest that is used.

    Raises:
        PartMissing: the system refuses a part.
    """
    hidden = [Path(os.path.realpath(path)) for path in config["hidden"]]
    _forget(hidden)
    _list_import_folders()
    readable, unlisted = _readable(), [Path(folder) for folder in config.get("unlisted", ())]
    files = readable, unlisted, [Path(config["scratch"]), Path(os.devnull)], _touching(hidden, [*readable, *unlisted])
    user = privileges.unused_user() if privileges.is_root() and UNPRIVILEGED in isolation.parts else None
    rlimits.limit_counts(rlimits.shared_threads() if user is None else rlimits.own_threads(), config.get("cpu_s"))
    steps: dict[str, Callable[[], None]] = {
        UNPRIVILEGED: functools.partial(privileges.give_up, user, Path(config["scratch"]), isolation.reads_as_root),
        LANDLOCK: functools.partial(landlock.restrict_files, *files, newest=config.get("landlock_version")),
        SECCOMP: seccomp.filter_calls,
    }
    for part, step in steps.items():
        if part in isolation.parts:
            try:
                step()
            except OSError as error:
                raise PartMissing(part, str(error)) from error


def _forget(hidden: Sequence[Path]) -> None:
    """Remove the folders that contain `hidden`, and the clone that contains this package, from Python's path."""
    parents = {str(path.parent) for path in hidden} | _clone()
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") not in parents]


def _clone() -> set[str]:
    """Return the folder that contains this package, unless it contains the other packages, too.

    After an editable install, that folder is a clone with other things: the history, solutions, results.
    """
    beside = Path(__file__).parents[3]
    jax = importlib.util.find_spec("jax")
    # A virtual environment in a subfolder of the clone does not count.
    return set() if jax is None or jax.origin is None or beside == Path(jax.origin).parents[1] else {str(beside)}


def _list_import_folders() -> None:
    """Let Python list the folders that it imports from; those that contain a hidden one cannot be listed later."""
    import jaxguide

    for entry in (*sys.path, *jaxguide.__path__):
        for hook in sys.path_hooks:
            with contextlib.suppress(ImportError):
                finder = sys.path_importer_cache.setdefault(entry, hook(entry))
                if isinstance(finder, FileFinder):
                    finder.find_spec("_no_such_module")
                break


def _readable() -> list[Path]:
    """Return the files and folders that Python and JAX need, by the names that these use for them."""
    package = Path(__file__).parents[2]
    places: list[str | Path] = [*sys.path, package, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        places += [Path(prefix, part) for part in ("lib", "lib64", "share", "pyvenv.cfg")]
    return [Path(place) for place in (*places, *_SYSTEM_READABLE) if place and os.path.exists(place)]


def _touching(hidden: Sequence[Path], readable: Sequence[Path]) -> list[Path]:
    """Return the real paths in `hidden` that are in a readable place or contain one; few of a class's files are."""
    tops = {Path(os.path.realpath(path)) for path in readable}
    above = {folder for top in tops for folder in (top, *top.parents)}
    return [path for path in hidden if path in above or not tops.isdisjoint((path, *path.parents))]
