"""The box around a worker: what its process may read, write and use up."""

import contextlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from importlib.machinery import FileFinder
from pathlib import Path
from typing import Any

from jaxguide.grading import landlock

LANDLOCK = "landlock"
AUDIT_HOOK = "audit hook"

_SYSTEM_READABLE = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/usr/share/fonts"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/dev/urandom", "/dev/random", "/dev/zero"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/sys/vm"),
    *("/sys/devices/system", "/sys/fs/cgroup"),
)


def hide(hidden: Sequence[Path], scratch: Path, protection: str = LANDLOCK) -> str:
    """Take away the sight of `hidden` and, where the kernel can, of all that Python does not need.

    Must run before any thread starts: Landlock holds for the threads that come after.

    Args:
        hidden: the course's keys, the submissions, the results.
        scratch: the only folder that may be written.
        protection: the best to try, `LANDLOCK` or `AUDIT_HOOK`.

    Returns:
        Which protection now holds.
    """
    real = [Path(os.path.realpath(path)) for path in hidden]
    parents = {str(path.parent) for path in real} | _clone()
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") not in parents]
    if protection == LANDLOCK:
        _remember_folders()
        with contextlib.suppress(landlock.LandlockMissing):
            landlock.confine(_readable(), [scratch, Path("/dev/null")], real)
            return LANDLOCK
    import ctypes  # noqa: F401  (loads the C library: not possible once the hook is there)

    sys.addaudithook(_audit_hook([str(path) for path in real]))
    return AUDIT_HOOK


def _clone() -> set[str]:
    """Return the folder that this package stands in, if no other package that is needed stands there.

    In a clone that is installed as editable, other things lie beside the package: the history, solutions, results.
    """
    beside = Path(__file__).parents[2]
    jax = importlib.util.find_spec("jax")
    return set() if jax is None or jax.origin is None or beside in Path(jax.origin).parents else {str(beside)}


def _readable() -> list[Path]:
    package = Path(__file__).parents[1]
    places: list[str | Path] = [*sys.path, package, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        places += [Path(prefix, part) for part in ("lib", "lib64", "share", "pyvenv.cfg")]
    return [Path(place) for place in (*places, *_SYSTEM_READABLE) if place and os.path.exists(place)]


def _remember_folders() -> None:
    """List the folders that Python imports from, since one that holds a hidden one cannot be listed later."""
    import jaxguide

    for entry in (*sys.path, *jaxguide.__path__):
        for hook in sys.path_hooks:
            with contextlib.suppress(ImportError):
                finder = sys.path_importer_cache.setdefault(entry, hook(entry))
                if isinstance(finder, FileFinder):
                    finder.find_spec("_no_such_module")
                break


_REFUSED_EVENTS = frozenset(
    ("ctypes.dlopen", "ctypes.dlsym", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen")
)
_PATH_EVENTS = frozenset(
    (
        *("open", "os.listdir", "os.scandir", "os.chdir", "os.link", "os.symlink", "os.rename", "os.truncate"),
        *("glob.glob", "pathlib.Path.glob", "shutil.copyfile", "shutil.copytree", "shutil.move", "sqlite3.connect"),
    )
)


def _audit_hook(hidden: list[str]) -> Callable[[str, tuple[Any, ...]], None]:
    """Return a hook that refuses Python's own ways to the hidden folders. It holds off accidents, not attackers."""
    real, join, separator = os.path.realpath, os.path.join, os.sep
    descriptors = ("/proc/self/fd", "/dev/fd")

    def names_hidden(value: Any) -> bool:
        if isinstance(value, int):
            value = join(descriptors[not sys.platform.startswith("linux")], str(value))
        if not isinstance(value, str | bytes | os.PathLike):
            return False
        path = real(os.fsdecode(value))
        return any(path == folder or path.startswith(folder + separator) for folder in hidden)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _REFUSED_EVENTS:
            raise PermissionError("a submission may not load libraries or start programs")
        if event in _PATH_EVENTS and any(names_hidden(value) for value in arguments[:2]):
            raise PermissionError("a submission may not read this folder")

    return hook


def limit(memory_bytes: int, file_bytes: int, cpu_s: int) -> None:
    """Limit this process by the system's own means, where it has them.

    Args:
        memory_bytes: address space beyond what is in use now. JAX should have started: its threads reserve much.
        file_bytes: the largest file that it may write.
        cpu_s: processor time after which the system ends it, should nobody else do so.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": file_bytes, "RLIMIT_CPU": cpu_s}
    used = _address_space_bytes()
    if used is not None:
        wanted["RLIMIT_AS"] = used + memory_bytes
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
