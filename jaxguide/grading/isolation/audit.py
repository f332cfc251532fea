"""Block Python's access to hidden folders with an audit hook, which stops accidents but not attackers."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_REFUSED_EVENTS = frozenset(
    ("ctypes.dlopen", "ctypes.dlsym", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen")
)
_PATH_EVENTS = frozenset(
    (
        *("open", "os.listdir", "os.scandir", "os.chdir", "os.link", "os.symlink", "os.rename", "os.truncate"),
        *("glob.glob", "pathlib.Path.glob", "shutil.copyfile", "shutil.copytree", "shutil.move", "sqlite3.connect"),
    )
)


def add_audit_hook(hidden: Sequence[Path]) -> None:
    """Forbid this process, irrevocably, to open what is `hidden`, to load libraries and to start programs."""
    import ctypes  # noqa: F401  (loads the C library, which the hook would forbid)

    sys.addaudithook(_hook([str(path) for path in hidden]))


def _hook(hidden: list[str]) -> Callable[[str, tuple[Any, ...]], None]:
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
