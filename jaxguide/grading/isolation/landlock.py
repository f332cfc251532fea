"""Confine this process with Landlock, the Linux kernel's unprivileged sandbox.

Whatever is not granted is refused, irrevocably, to this process, to threads that it starts later, and to its children.
See https://docs.kernel.org/userspace-api/landlock.html; the numbers are the kernel's.
"""

import os
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxguide.grading.isolation.syscalls import PR_SET_NO_NEW_PRIVS, call_number, prctl

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS = (1 << 1) | _READ_FILE | (1 << 14)  # write, read, truncate
_READ = _READ_FILE | _READ_DIR
# Write, read, list, remove and make directories, files, sockets, pipes, links; rename across folders; truncate.
# Running programs (bit 0), making devices and their ioctls are never granted.
_WRITE = (1 << 1) | _READ | sum(1 << bit for bit in (4, 5, 7, 8, 9, 10, 12, 13, 14))


def version() -> int:
    """Return the kernel's Landlock version, or 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return call_number(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except (OSError, AttributeError):
        return 0


def restrict_files(
    readable: Iterable[Path],
    unlisted: Iterable[Path],
    writable: Iterable[Path],
    hidden: Sequence[Path],
    newest: int | None = None,
) -> None:
    """Refuse this process, irrevocably, all files but these, TCP, and signals to others (from kernel 6.12).

    Args:
        readable: files and folders that may be read, with everything below; missing ones are skipped.
        unlisted: folders whose files may be read, but only by name; missing ones are skipped.
        writable: files and folders that may be read and written.
        hidden: folders and files that stay unreadable even if they are below a readable one.
        newest: use nothing that is newer than this version of Landlock, as on an older kernel; tests set it.

    Raises:
        OSError: the kernel does not have Landlock, or does not let this process use it.
    """
    found = version() if newest is None else min(version(), newest)
    if not found:
        raise OSError("this kernel has no Landlock")
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(found, 16)) - 1
    network, scope = (3 if found >= 4 else 0), (3 if found >= 6 else 0)
    attributes = struct.pack("<QQQ", handled, network, scope)[: 24 if found >= 6 else 16 if found >= 4 else 8]
    ruleset = call_number(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for paths, rights in ((readable, _READ), (unlisted, _READ_FILE)):
            for path in paths:
                for part in without(path, hidden):
                    _grant(ruleset, part, rights & handled)
        for path in writable:
            _grant(ruleset, path, _WRITE & handled)
        prctl(PR_SET_NO_NEW_PRIVS, 1)  # otherwise only root may restrict itself
        call_number(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def without(path: Path, hidden: Sequence[Path]) -> list[Path]:
    """Return what to grant to grant everything below `path` except `hidden`: `path` itself, or parts of it.

    Landlock can only grant. So a folder that contains a hidden one is granted entry by entry, and cannot be listed.
    """
    real = Path(os.path.realpath(path))
    inside = [folder for folder in hidden if folder.is_relative_to(real)]
    if any(real.is_relative_to(folder) for folder in hidden):
        return []
    if not inside:
        return [real]
    try:
        entries = sorted(real.iterdir())
    except OSError:
        return []
    # A link among the entries may lead anywhere; only a rule for its target may grant it.
    return [part for entry in entries if not entry.is_symlink() for part in without(entry, inside)]


def _grant(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_RIGHTS
        call_number(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("<Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
