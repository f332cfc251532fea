"""Create a worker's scratch folder, watch how much it contains, and delete it even if it is deeply nested or locked."""

import atexit
import contextlib
import functools
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

if sys.platform != "win32":  # on Windows, no folder is held, and none is found
    import fcntl

GRADER = "jaxguide-grader-"
"""How the names of graders' folders begin."""

_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


_lock = threading.Lock()


def new_scratch(files: Mapping[str, Path]) -> Path:
    """Create a folder for a worker. Processes that were killed leave theirs behind; the first call deletes them.

    The folder's parent is this process's, which holds it as long as it lives.

    Args:
        files: the files that are copied into it, by name, for reading only.
    """
    with _lock:
        try:
            folder = Path(tempfile.mkdtemp(prefix="w", dir=_own_folder(os.getpid())))
        except FileNotFoundError:  # somebody cleaned the temporary folder
            _own_folder.cache_clear()
            folder = Path(tempfile.mkdtemp(prefix="w", dir=_own_folder(os.getpid())))
    for name, path in files.items():
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copy.chmod(0o400)
    return folder


@functools.cache
def _own_folder(pid: int) -> Path:
    """Create the folder for the scratch folders of this process."""
    # Under another name, others do not take it for an abandoned one before it is held.
    folder = Path(tempfile.mkdtemp(prefix="jaxguide-new-"))
    _held(folder)  # until this process ends
    folder.chmod(0o711)  # a worker may run as another user, who must reach its own folder but not list the others
    folder = folder.rename(folder.with_name(GRADER + folder.name.removeprefix("jaxguide-new-")))
    atexit.register(lambda: remove_scratch(folder) if os.getpid() == pid else None)
    _remove_abandoned()
    return folder


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
        is_full = False
        with contextlib.suppress(OSError):  # the folder is gone
            used = used_bytes(self._folder)
            is_full = used is None or used + self._nameless_bytes(pids) > self._limit_bytes
        took_s = time.monotonic() - started
        self._next_s = started + took_s / _LOOKING_SHARE
        return is_full

    def _nameless_bytes(self, pids: Iterable[int]) -> int:
        """Return the size of the deleted files that processes have open or mapped, at most."""
        sizes: dict[int, int] = {}
        for pid in pids:
            sizes |= dict.fromkeys(_mapped_files(pid, self._folder), self._file_bytes)
            sizes |= _open_files(pid, os.stat(self._folder).st_dev)
        sizes.pop(self._output, None)
        return sum(sizes.values())


def used_bytes(folder: Path) -> int | None:
    """Return the size of all files in a folder, or None if there are too many or folders are nested too deeply."""
    size_bytes = 0
    if os.scandir in os.supports_fd:
        for count, (found, depth) in enumerate(_below(os.open(folder, os.O_RDONLY | _FOLDER), 0)):
            if count >= FILES_LIMIT or depth > _DEPTH_LIMIT:
                return None
            size_bytes += found.st_blocks * 512
    return size_bytes


def _below(folder: int, depth: int) -> Iterator[tuple[os.stat_result, int]]:
    """Yield what an open folder contains, with its depth, and close the folder.

    It never goes through paths, which the submission may replace with links.
    """
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # deleted in the meantime
                    found = entry.stat(follow_symlinks=False)
                    yield found, depth
                    if stat.S_ISDIR(found.st_mode):
                        yield from _below(_opened(entry.name, folder), depth + 1)
    finally:
        os.close(folder)


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
