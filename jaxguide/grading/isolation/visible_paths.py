"""List what a worker may see of the file system: Python, its packages, and what the system's libraries read."""

import contextlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import FileFinder
from pathlib import Path

_SYSTEM_READABLE = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/usr/share/fonts"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/dev/urandom", "/dev/random", "/dev/zero"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/sys/vm"),
    *("/sys/devices/system", "/sys/fs/cgroup"),
)


def forget(hidden: Sequence[Path]) -> None:
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


def readable() -> list[Path]:
    """Return the files and folders that Python and JAX need, by the names that these use for them."""
    package = Path(__file__).parents[2]
    places: list[str | Path] = [*sys.path, package, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        places += [Path(prefix, part) for part in ("lib", "lib64", "share", "pyvenv.cfg")]
    return [Path(place) for place in (*places, *_SYSTEM_READABLE) if place and os.path.exists(place)]


def touching(hidden: Sequence[Path], readable: Sequence[Path]) -> list[Path]:
    """Return the real paths in `hidden` that are in a readable place or contain one; few of a class's files are.

    >>> touching([Path("/a/b/c"), Path("/x"), Path("/y")], [Path("/a/b"), Path("/x/python")])
    [PosixPath('/a/b/c'), PosixPath('/x')]
    """
    tops = {Path(os.path.realpath(path)) for path in readable}
    above = {folder for top in tops for folder in (top, *top.parents)}
    return [path for path in hidden if path in above or not tops.isdisjoint((path, *path.parents))]


def remember_folders() -> None:
    """Let Python list the folders that it imports from; those that contain a hidden one cannot be listed later."""
    import jaxguide

    for entry in (*sys.path, *jaxguide.__path__):
        for hook in sys.path_hooks:
            with contextlib.suppress(ImportError):
                finder = sys.path_importer_cache.setdefault(entry, hook(entry))
                if isinstance(finder, FileFinder):
                    finder.find_spec("_no_such_module")
                break
