"""Give up root's user ID and capabilities, and every way to get them back."""

import contextlib
import os
import signal
import struct
import sys
from pathlib import Path

from jaxguide.grading.isolation.syscalls import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_DUMPABLE,
    PR_SET_KEEPCAPS,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    call,
    prctl,
)

READING = 1 << 2
"""The capability to read any folder and file that Landlock shows, CAP_DAC_READ_SEARCH."""

_CAPABILITIES_VERSION = 0x20080522
_NOBODY = 65534
# Far above the IDs that systems give to people, services and the users of containers.
_FIRST_UNUSED, _UNUSED_COUNT = 1_900_000_000, 10_000_000


def is_root() -> bool:
    """Return whether this process runs as root."""
    return sys.platform != "win32" and (os.geteuid() == 0 or os.getuid() == 0)


def unused_user() -> int:
    """Return a user ID for one worker: an unused one, or that of `nobody` if this system does not map high IDs."""
    wanted = _FIRST_UNUSED + os.getpid() % _UNUSED_COUNT
    with contextlib.suppress(OSError), open("/proc/self/uid_map") as ranges:
        for line in ranges:
            first, _outside, count = map(int, line.split())
            if first <= wanted < first + count:
                return wanted
    return _NOBODY


def give_up(user: int | None, scratch: Path, reads_as_root: bool = False) -> None:
    """Give up all capabilities, irrevocably, and become another user without groups.

    Args:
        user: the ID of that user and of its group, or None to remain this user, who is not root.
        scratch: the folder that the user shall own, with what it contains.
        reads_as_root: keep the capability `READING`.

    Raises:
        OSError: the system refuses.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):  # without the capability to do so, or above the last capability
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)
    with contextlib.suppress(OSError):  # before Linux 4.3
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    if user is not None:
        parent = os.getppid()
        for place in (scratch, *scratch.rglob("*")):
            os.chown(place, user, user)
        prctl(PR_SET_KEEPCAPS, int(reads_as_root))
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        prctl(PR_SET_DUMPABLE, 1)  # cleared by the change of user, as is the signal; without it, /proc/self is root's
        end_with_parent(parent)
    header = struct.pack("<Ii", _CAPABILITIES_VERSION, 0)
    kept = READING if reads_as_root else 0
    call("capset", header, struct.pack("<6I", kept, kept, 0, 0, 0, 0))


def end_with_parent(parent: int) -> None:
    """Make this process end when its parent ends, or at once if the parent has already ended. Linux only.

    Args:
        parent: the parent's process id, determined while the parent was certainly alive.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call above
        os._exit(1)
