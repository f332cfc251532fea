"""Give up root's user ID and capabilities, and every way to get them back."""

import contextlib
import os
import struct
import sys

from jaxguide.grading.isolation.syscalls import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_DUMPABLE,
    PR_SET_KEEPCAPS,
    call,
    prctl,
)

_CAPABILITIES_VERSION = 0x20080522
_DAC_READ_SEARCH, _SYS_ADMIN = 2, 21
_NOBODY = 65534
# Far above the IDs that systems give to people, services and the users of containers.
_FIRST_UNUSED, _UNUSED_COUNT = 1_900_000_000, 10_000_000


def is_root() -> bool:
    """Return whether this process runs as root."""
    return sys.platform != "win32" and (os.geteuid() == 0 or os.getuid() == 0)


def effective_capabilities() -> int:
    """Return this process's effective capabilities as the kernel's bits."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("CapEff:"):
                return int(line.split()[1], 16)
    return 0


def may_mount() -> bool:
    """Return whether this process may make namespaces and mounts without its own user namespace."""
    return is_root() and bool(effective_capabilities() >> _SYS_ADMIN & 1)


def unused_user() -> int:
    """Return a user ID for one worker: an unused one, or that of `nobody` if this system does not map high IDs."""
    wanted = _FIRST_UNUSED + os.getpid() % _UNUSED_COUNT
    with contextlib.suppress(OSError), open("/proc/self/uid_map") as ranges:
        for line in ranges:
            first, _outside, count = map(int, line.split())
            if first <= wanted < first + count:
                return wanted
    return _NOBODY


def become(user: int, reads_as_root: bool = False) -> None:
    """Become this user, irrevocably, with no groups and no capabilities.

    Args:
        user: the ID of the user and of its group.
        reads_as_root: keep the right to read any folder and file that other layers leave visible.

    Raises:
        OSError: the system refuses.
    """
    drop_bounding_set()
    if reads_as_root:
        prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    set_capabilities(1 << _DAC_READ_SEARCH if reads_as_root else 0)
    # A change of user makes /proc/self unwritable, which a user namespace's ID maps are written to.
    prctl(PR_SET_DUMPABLE, 1)


def drop_bounding_set() -> None:
    """Remove every capability from the set that programs started later could get, if this process may."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            return


def drop_capabilities(kept: int = 0) -> None:
    """Give up every capability except those whose bits are in `kept`."""
    drop_bounding_set()
    with contextlib.suppress(OSError):  # before Linux 4.3
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    set_capabilities(kept)


def set_capabilities(bits: int) -> None:
    """Set the effective and permitted capabilities, and make none inheritable."""
    header = struct.pack("<Ii", _CAPABILITIES_VERSION, 0)
    low, high = bits & 0xFFFFFFFF, bits >> 32
    call("capset", header, struct.pack("<6I", low, low, 0, high, high, 0))


READING = 1 << _DAC_READ_SEARCH
