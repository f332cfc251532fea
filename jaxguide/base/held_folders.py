"""Create temporary folders that processes hold as long as they live, and find those of processes that were killed."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":  # on Windows, no folder is held, and none is found
    import fcntl

GRADER, PROBE = "jaxguide-grader-", "jaxguide-probe-"
"""How the names of held folders begin."""

_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def new_held_folder(prefix: str, mode: int = 0o700) -> tuple[Path, int | None]:
    """Create a folder in the system's temporary folder, and hold it.

    Args:
        prefix: one of this module's names.
        mode: its permissions.

    Returns:
        The folder, and what `hold` returned.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        held = hold(folder)
        if held is None or _is_at(folder, held):
            folder.chmod(mode)
            return folder, held
        os.close(held)  # another process found it before it was held, and deleted it


def hold(folder: Path) -> int | None:
    """Hold a folder until this process, and all that it forks, have closed the returned descriptor or ended.

    Several processes may hold the same folder.

    Returns:
        The descriptor, or None if the system refuses.
    """
    if sys.platform == "win32":
        return None
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | _FOLDER)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
    return None


def abandoned() -> Iterator[Path]:
    """Find this user's folders from `new_held_folder` that no process holds any more.

    Yields:
        A folder, which no process can begin to hold until the next one is asked for; never a link.
    """
    if sys.platform == "win32":
        return
    top = Path(tempfile.gettempdir())
    with contextlib.suppress(OSError):
        for folder in sorted(top / name for name in os.listdir(top) if name.startswith((GRADER, PROBE))):
            with contextlib.suppress(OSError):
                descriptor = os.open(folder, os.O_RDONLY | _FOLDER)
                try:
                    if os.fstat(descriptor).st_uid == os.geteuid():
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        if _is_at(folder, descriptor):
                            yield folder
                finally:
                    os.close(descriptor)


def _is_at(folder: Path, descriptor: int) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(folder.lstat(), os.fstat(descriptor))
    return False
