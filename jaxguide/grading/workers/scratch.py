"""Create a worker's scratch folder, watch how much it contains, and delete it even if it is deeply nested or locked."""

import atexit
import contextlib
import dataclasses
import os
import re
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

if sys.platform != "win32":  # on Windows, no folder is held, and none is found
    import fcntl

GRADER = "jaxguide-grader-"
"""How the names of graders' folders begin."""

_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclasses.dataclass(frozen=True)
class _GraderFolder:
    """The folder for the scratch folders of one process, and the descriptor that holds it."""

    pid: int
    path: Path
    held: int | None


_lock = threading.Lock()
_own: _GraderFolder | None = None


def new_scratch() -> Path:
    """Create an empty folder for a worker. Processes that were killed leave theirs behind; the first call deletes them.

    The folder's parent is this process's, which holds it as long as it lives.
    """
    global _own
    with _lock:
        if _own is not None and _own.pid == os.getpid():
            with contextlib.suppress(FileNotFoundError):  # somebody cleaned the temporary folder
                return Path(tempfile.mkdtemp(prefix="w", dir=_own.path))
        if _own is not None and _own.held is not None:
            os.close(_own.held)  # this process is a fork
        # Under another name, others do not take it for an abandoned one before it is held.
        folder = Path(tempfile.mkdtemp(prefix="jaxguide-new-"))
        held = _held(folder)
        folder.chmod(0o711)  # a worker may run as another user, who must reach its own folder but not list the others
        folder = folder.rename(folder.with_name(GRADER + folder.name.removeprefix("jaxguide-new-")))
        _own = _GraderFolder(os.getpid(), folder, held)
        _remove_abandoned()
        return Path(tempfile.mkdtemp(prefix="w", dir=folder))


def _held(folder: Path) -> int | None:
    """Hold a folder until this process, and all that it forks, have closed the returned descriptor or ended.

    Returns:
        The descriptor, or None if another process holds the folder, it is a link, or the system refuses.
    """
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | _FOLDER)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
            else:
                return descriptor
    return None


def _remove_abandoned() -> None:
    """Delete this user's folders that no process holds any more."""
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{GRADER}*"):
            if (held := _held(folder)) is not None:
                if os.fstat(held).st_uid == os.geteuid():
                    remove_scratch(folder)
                os.close(held)


@atexit.register
def _remove_own() -> None:
    if _own is not None and _own.pid == os.getpid():
        remove_scratch(_own.path)


def remove_scratch(top: Path) -> None:
    """Delete a folder and its contents, as far as possible. No process may write to it any more.

    Folders may nest deeper than the path length limit, and deeper than Python's recursion limit, which stops
    `shutil.rmtree` before Python 3.13. So nested folders are first moved to the top.

    >>> import tempfile
    >>> top = Path(tempfile.mkdtemp())
    >>> (top / "a" / "b").mkdir(parents=True)
    >>> remove_scratch(top)
    >>> top.exists()
    False

    Args:
        top: the folder; links in it are deleted, not followed.
    """
    count, mark = 0, os.urandom(8).hex()  # a name that the submission has not used
    with contextlib.suppress(OSError):
        top.chmod(0o700)
        while below := _emptied(top):
            for folder in below:
                for inner in _emptied(folder):
                    os.rename(inner, top / f".{mark}-{count}")
                    count += 1
                folder.rmdir()
        top.rmdir()


def _emptied(folder: Path) -> list[Path]:
    """Delete the files in a folder, make its folders accessible, and return them."""
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
# Checking the folder takes at most this share of the time.
_LOOKING_SHARE = 0.1


class ScratchWatch:
    """Watch one folder that a submission writes to.

    Args:
        folder: the scratch folder.
        limit_bytes: the limit on the total size of its files.
        file_bytes: the limit on the size of each file.
        output: the inode number of the unnamed file with the submission's output, which does not count.
    """

    def __init__(self, folder: Path, limit_bytes: int, file_bytes: int, output: int = -1):
        self._folder, self._limit_bytes, self._file_bytes, self._output = folder, limit_bytes, file_bytes, output
        self._next_s = 0.0

    def is_full(self, pids: Iterable[int] = (), at_once: bool = False) -> bool:
        """Return whether the folder exceeds its limits on bytes, files or nesting.

        Args:
            pids: processes that may have deleted files open, which count too. The size of a deleted file that is only
                mapped into memory is not known, so each counts as the largest that there may be.
            at_once: check even if the last check was too recent.
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
        return count.size_bytes + self._nameless_bytes(pids, device) > self._limit_bytes

    def _nameless_bytes(self, pids: Iterable[int], device: int) -> int:
        """Return the size of the deleted files that processes have open or mapped, at most."""
        sizes: dict[int, int] = {}
        for pid in pids:
            sizes |= dict.fromkeys(_mapped_files(pid, self._folder), self._file_bytes)
            sizes |= _open_files(pid, device)
        sizes.pop(self._output, None)
        return sum(sizes.values())


class _TooMany(Exception):
    """There are too many files, or the folders are nested too deeply."""


class _Count:
    """Add up file sizes through open folders, never through paths, which the submission may replace with links."""

    def __init__(self) -> None:
        self.size_bytes = self._files = 0

    def add_folder(self, folder: int, depth: int) -> None:
        """Add the contents of an open folder, and close it."""
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
        with contextlib.suppress(OSError):  # deleted in the meantime
            found = entry.stat(follow_symlinks=False)
            self.size_bytes += found.st_blocks * 512
            if stat.S_ISDIR(found.st_mode):
                self.add_folder(_opened(entry.name, folder), depth + 1)


def _opened(name: str, folder: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
    except PermissionError:
        # A locked folder must not hide files. Unlock it through its descriptor, because the name may have changed.
        found = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{found}", 0o700)
        finally:
            os.close(found)
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)


def _open_files(pid: int, device: int) -> dict[int, int]:
    """Return the inode number and size of each deleted file on a device that a process has open."""
    sizes: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found = os.stat(f"/proc/{pid}/fd/{number}")
                if stat.S_ISREG(found.st_mode) and not found.st_nlink and found.st_dev == device:
                    sizes[found.st_ino] = found.st_blocks * 512
    return sizes


def _mapped_files(pid: int, folder: Path) -> set[int]:
    """Return the inode numbers of the deleted files of a folder that a process has mapped."""
    with contextlib.suppress(OSError):
        maps = Path(f"/proc/{pid}/maps").read_bytes()
        # After the addresses: permissions, offset, device, inode and path. The submission chooses the end of the path.
        mapped = rb"^\S+ \S+ \S+ \S+ (\d+) +" + re.escape(os.fsencode(folder)) + rb"/.* \(deleted\)$"
        return {int(inode) for inode in re.findall(mapped, maps, re.MULTILINE)}
    return set()
