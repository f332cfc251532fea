"""Give a worker its own file system: Python and the system's libraries, read-only, and an empty scratch in memory.

This needs a mount namespace, a pid namespace, and Linux 5.12 for `mount_setattr`.
"""

import collections
import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxguide.grading.isolation.syscalls import call

_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_LINKS_LIMIT = 40
_SCRATCH_FILES = 16384


def enter(readable: Sequence[Path], hidden: Sequence[Path], scratch: Path, size_bytes: int, user: int) -> None:
    """Replace the root with a new one that contains `readable`, `scratch` and this namespace's `/proc`.

    Args:
        readable: files and folders to show, read-only, at their paths; missing ones are skipped.
        hidden: files and folders that stay hidden even if they are below a readable one.
        scratch: an existing folder; it is replaced by an empty one in memory, the only writable one.
        size_bytes: the size limit of the scratch.
        user: the owner of the scratch.

    Raises:
        OSError: the system refuses.
    """
    before = os.umask(0o022)
    try:
        top = os.path.realpath(scratch)
        _mount(None, "/", None, _RECURSIVE | _PRIVATE)
        _mount("tmpfs", top, "tmpfs", _NOSUID | _NODEV, "size=1m,nr_inodes=16384,mode=755")
        root = _Root(top, [os.path.realpath(path) for path in hidden])
        for path in readable:
            root.copy_links(str(path))
        for path in sorted(readable):
            root.show(str(path))
        root.show(os.devnull, writable=True)
        root.cover_hidden()
        os.makedirs(top + "/proc", exist_ok=True)
        _mount("proc", top + "/proc", "proc", _NOSUID | _NODEV | _NOEXEC, "hidepid=2")
        os.makedirs(top + top, exist_ok=True)
        options = f"size={size_bytes},nr_inodes={_SCRATCH_FILES},mode=700,uid={user},gid={user}"
        _mount("tmpfs", top + top, "tmpfs", _NOSUID | _NODEV | _NOEXEC, options)
        _restrict(top, _RDONLY | _NOSUID | _NODEV)
        os.chdir(top)
        call("pivot_root", b".", b".")
        call("umount2", b".", _DETACH)
        os.chdir(top)
    finally:
        os.umask(before)


class _Root:
    """The new root while it is built at `top`."""

    def __init__(self, top: str, hidden: Sequence[str]):
        self.top, self.hidden = top, hidden
        self.shown: list[str] = []

    def show(self, path: str, writable: bool = False) -> None:
        real = os.path.realpath(path)
        if not os.path.exists(real) or real.startswith("/proc") or _is_within(real, [*self.shown, *self.hidden]):
            return
        target = self.top + real
        if os.path.isdir(real):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            Path(target).touch()
        _mount(real, target, None, _BIND | _RECURSIVE)
        is_device = real.startswith("/dev/")
        _restrict(target, _NOSUID | (0 if is_device else _NODEV) | (0 if writable else _RDONLY), recursive=True)
        self.shown.append(real)

    def cover_hidden(self) -> None:
        empty = self.top + "/.empty"
        Path(empty).touch(mode=0)
        for path in self.hidden:
            if not _is_within(path, self.shown) or not os.path.lexists(path):
                continue
            if os.path.isdir(path):
                _mount("tmpfs", self.top + path, "tmpfs", _RDONLY | _NOSUID | _NODEV, "size=4k,nr_inodes=1,mode=000")
            else:
                _mount(empty, self.top + path, None, _BIND)
                _restrict(self.top + path, _RDONLY | _NOSUID | _NODEV)

    def copy_links(self, path: str) -> None:
        for link, target in _links_to(path):
            if not link.startswith("/proc"):
                os.makedirs(self.top + os.path.dirname(link), exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    os.symlink(target, self.top + link)


def _links_to(path: str) -> Iterator[tuple[str, str]]:
    """Yield the symbolic links on an absolute path as (link, target), such as ('/lib64', 'usr/lib64')."""
    seen, left, links = "/", collections.deque(path.split("/")), 0
    while left and links < _LINKS_LIMIT:
        part = left.popleft()
        here = os.path.normpath(os.path.join(seen, part))
        if part in ("", ".", "..") or not os.path.islink(here):
            seen = here
            continue
        links += 1
        target = os.readlink(here)
        left.extendleft(reversed(target.split("/")))
        yield here, target
        seen = "/" if target.startswith("/") else seen


def _is_within(path: str, folders: Sequence[str]) -> bool:
    """Return whether an absolute path is one of these folders or inside one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    pointers = [None if text is None else os.fsencode(text) + b"\0" for text in (source, target, kind, options)]
    try:
        call("mount", *pointers[:3], flags, pointers[3])
    except OSError as error:
        raise OSError(error.errno, error.strerror, target) from None


def _restrict(target: str, attributes: int, recursive: bool = False) -> None:
    """Add attributes to a mount; attributes that another user namespace locked stay."""
    packed = struct.pack("<4Q", attributes, 0, 0, 0)
    call("mount_setattr", _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE if recursive else 0, packed, len(packed))
