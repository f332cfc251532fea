"""A worker's folder, seen from outside: how much it holds, and its removal however deep it is nested or locked."""

import contextlib
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path


def remove_scratch(top: Path) -> None:
    """Remove a folder with all in it; what cannot be removed stays. No process may write to it any more.

    Folders may nest deeper than a path may be long, and deeper than Python recurses, which `shutil.rmtree` does before
    Python 3.13. So each folder's folders are first moved to the top.

    >>> import tempfile
    >>> top = Path(tempfile.mkdtemp())
    >>> (top / "a" / "b").mkdir(parents=True)
    >>> remove_scratch(top)
    >>> top.exists()
    False

    Args:
        top: the folder; a link in it is removed, not followed.
    """
    count = 0
    with contextlib.suppress(OSError):
        top.chmod(0o700)
        while below := _emptied(top):
            for folder in below:
                for inner in _emptied(folder):
                    os.rename(inner, top / f".{count}")
                    count += 1
                folder.rmdir()
        top.rmdir()


def _emptied(folder: Path) -> list[Path]:
    """Remove the files in a folder; return the folders, made accessible."""
    with os.scandir(folder) as entries:
        found = list(entries)
    folders = []
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            folders.append(Path(entry.path))
        else:
            os.unlink(entry.path)
    return folders


FILES_LIMIT = 16384
_DEPTH_LIMIT = 64
# Looking takes at most this share of the time.
_LOOKING_SHARE = 0.1
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class ScratchWatch:
    """Watches one folder that a submission writes to.

    Args:
        folder: the scratch.
        limit_bytes: what its files may hold together.
        output: the number of the nameless file that holds what was printed, which is none of these.
    """

    def __init__(self, folder: Path, limit_bytes: int, output: int = -1):
        self._folder, self._limit_bytes, self._output = folder, limit_bytes, output
        self._next_s = 0.0

    def is_full(self, pids: Iterable[int] = (), at_once: bool = False) -> bool:
        """Return whether there is more in the folder than allowed: bytes, files, or folders in folders.

        Args:
            pids: processes that may hold files open that have no name any more. One that is mapped into memory and
                neither open nor named is not seen; the limit of address space bounds those.
            at_once: look even if it is not yet time to look again.
        """
        started = time.monotonic()
        if not at_once and started < self._next_s:
            return False
        full = os.scandir in os.supports_fd and self._is_full(pids)
        took_s = time.monotonic() - started
        self._next_s = started + took_s / _LOOKING_SHARE
        return full

    def _is_full(self, pids: Iterable[int]) -> bool:
        count = _Count()
        try:
            device = os.stat(self._folder).st_dev
            count.add_folder(os.open(self._folder, os.O_RDONLY | _FOLDER), 0)
        except _TooMany:
            return True
        except OSError:
            return False
        return count.size_bytes + _nameless_bytes(pids, device, self._output) > self._limit_bytes


class _TooMany(Exception):
    """More files, or deeper folders, than are counted."""


class _Count:
    """Adds up files by open folders, never by paths: the submission may put a link in any place at any time."""

    def __init__(self) -> None:
        self.size_bytes = self._files = 0

    def add_folder(self, folder: int, depth: int) -> None:
        """Add what an open folder holds, and close it."""
        try:
            if depth > _DEPTH_LIMIT:
                raise _TooMany
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._add(folder, entry, depth)
        finally:
            os.close(folder)

    def _add(self, folder: int, entry: "os.DirEntry[str]", depth: int) -> None:
        self._files += 1
        if self._files > FILES_LIMIT:
            raise _TooMany
        with contextlib.suppress(OSError):  # gone meanwhile
            found = entry.stat(follow_symlinks=False)
            self.size_bytes += found.st_blocks * 512
            if stat.S_ISDIR(found.st_mode):
                self.add_folder(_opened(entry.name, folder), depth + 1)


def _opened(name: str, folder: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
    except PermissionError:
        # Locked, which must not hide anything. Unlocked by what was opened, whatever the name leads to now.
        found = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{found}", 0o700)
        finally:
            os.close(found)
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)


def _nameless_bytes(pids: Iterable[int], device: int, left_out: int) -> int:
    """Return what files hold that these processes have open on a device and that have no name, but for one."""
    sizes: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for number in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    found = os.stat(f"/proc/{pid}/fd/{number}")
                    if stat.S_ISREG(found.st_mode) and not found.st_nlink and found.st_dev == device:
                        sizes[found.st_ino] = found.st_blocks * 512
    sizes.pop(left_out, None)
    return sum(sizes.values())
