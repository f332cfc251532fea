"""Refuse this process the kernel's calls that running a student's function never needs, by a seccomp filter.

Threads may start, programs and processes may not; no network, no signals to others, no doors into the kernel. See
https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html; the numbers are the kernel's.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from jaxguide.grading.isolation.syscalls import (
    NUMBERS,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    call,
    machine,
    number,
    prctl,
)

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
# One instruction: load a word, jump if equal / greater or equal / any bit set, mask, return.
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16
# Calls that came after these are not known here; libc falls back when it hears that the kernel has none.
_FIRST_UNKNOWN = 463
_SET_MODE_FILTER, _ALL_THREADS = 1, 1

# Refused only in part: see `_rules`. The last five are needed, and harm nobody else.
_PARTLY = {"clone", "clone3", "kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64", "setpriority"} | {
    *("sched_setaffinity", "socketpair", "sendto", "fcntl", "ioctl", "prctl"),
    *("seccomp", "capset", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
}
# Mode, owner, dates and attributes of files stay as they are, and whoever changes them hears that all went well, as
# honest code copies files: in a tier without mounts of its own, the grader's own user owns much of what is there.
IGNORED = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
)
REFUSED = tuple(name for name in NUMBERS if name not in (*_PARTLY, *IGNORED))

_CLONE_THREAD = 0x10000
_CLONE_NAMESPACES = 0x7E020080  # mount, cgroup, uts, ipc, user, pid, net, time
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15  # a signal to whoever is named, sent by the kernel
_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C
_AF_UNIX, _PRIO_PROCESS = 1, 0


class SeccompMissing(Exception):
    """This kernel has no seccomp filters, or this machine's calls are not known here."""


def confine() -> None:
    """Refuse them for good: for this process, all its threads, and with it whatever it might start.

    The process must be the one that keeps the filter: its number is what may be signalled.

    Raises:
        SeccompMissing: the kernel cannot.
    """
    here = machine()
    if here is None:
        raise SeccompMissing("the calls of this machine are not known")
    install(program(os.getpid(), here))


def install(instructions: list[bytes]) -> None:
    """Hand a filter to the kernel, for good.

    Raises:
        SeccompMissing: the kernel cannot.
    """
    code = ctypes.create_string_buffer(b"".join(instructions))
    header = struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(code))
    try:
        prctl(PR_SET_NO_NEW_PRIVS, 1)  # without it only root may
        left_out = call("seccomp", _SET_MODE_FILTER, _ALL_THREADS, header)
    except OSError as error:
        raise SeccompMissing(str(error)) from error
    if left_out:
        raise SeccompMissing("a thread that runs already cannot be confined")


def program(own_pid: int, here: str) -> list[bytes]:
    """Return the filter's instructions for a process of this number on a machine, 'x86_64' or 'aarch64'."""
    start = [
        _op(_LOAD, _AT_ARCHITECTURE),
        _op(_EQUAL, _ARCHITECTURES[here], 1, 0),
        _op(_RETURN, _KILL),  # calls in 32-bit dress have other numbers
        _op(_LOAD, _AT_NUMBER),
    ]
    if here == "x86_64":
        start += [_op(_AT_LEAST, _X32_BIT, 0, 1), _op(_RETURN, _KILL)]
    start += [_op(_AT_LEAST, _FIRST_UNKNOWN, 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    refuse = _ERRNO | errno.EPERM
    for name in REFUSED:
        start += for_call(name, here, [_op(_RETURN, refuse)])
    for name in IGNORED:
        start += for_call(name, here, [_op(_RETURN, _ERRNO)])  # no error: nothing happens
    for name, block in _rules(own_pid).items():
        start += for_call(name, here, block)
    return [*start, _op(_RETURN, _ALLOW)]


def _rules(own_pid: int) -> dict[str, list[bytes]]:
    """Return what is asked of the calls that are refused in part."""
    to_itself = _if_argument(0, (own_pid,), allowed=True)
    to_itself_or_zero = _if_argument(0, (0, own_pid), allowed=True)
    nobody_named = [  # sendto: on a pair of sockets no address is needed
        *(_op(_LOAD, _argument(4)), _op(_EQUAL, 0, 0, 2), _op(_LOAD, _argument(4) + 4), _op(_EQUAL, 0, 1, 0)),
        *(_op(_RETURN, _ERRNO | errno.EPERM), _op(_RETURN, _ALLOW)),
    ]
    only_threads = [
        *(_op(_LOAD, _argument(0)), _op(_AND, _CLONE_THREAD | _CLONE_NAMESPACES)),
        *(_op(_EQUAL, _CLONE_THREAD, 1, 0), _op(_RETURN, _ERRNO | errno.EPERM), _op(_RETURN, _ALLOW)),
    ]
    own_priority = [
        *(_op(_LOAD, _argument(0)), _op(_EQUAL, _PRIO_PROCESS, 0, 2)),
        *(_op(_LOAD, _argument(1)), _op(_EQUAL, 0, 1, 0)),
        *(_op(_RETURN, _ERRNO | errno.EPERM), _op(_RETURN, _ALLOW)),
    ]
    return {
        "clone": only_threads,
        # Its flags lie in memory, where no filter can see them: libc then falls back to `clone`.
        "clone3": [_op(_RETURN, _ERRNO | errno.ENOSYS)],
        **dict.fromkeys(("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"), to_itself),
        **dict.fromkeys(("prlimit64", "sched_setaffinity"), to_itself_or_zero),
        "setpriority": own_priority,
        "socketpair": _if_argument(0, (_AF_UNIX,), allowed=True),  # asyncio wakes itself by one
        "sendto": nobody_named,
        "fcntl": _if_argument(1, (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX), allowed=False),
        "ioctl": _if_argument(1, (_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX), allowed=False),
        # Who takes the first off outlives the grader, and the second hides open files from it.
        "prctl": _if_argument(0, (PR_SET_PDEATHSIG, PR_SET_DUMPABLE), allowed=False),
    }


def _if_argument(index: int, values: tuple[int, ...], allowed: bool) -> list[bytes]:
    """Return a block that allows, or else refuses, these values of an argument's low word, and does the opposite."""
    yes, no = (_ALLOW, _ERRNO | errno.EPERM) if allowed else (_ERRNO | errno.EPERM, _ALLOW)
    jumps = [_op(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [_op(_LOAD, _argument(index)), *jumps, _op(_RETURN, no), _op(_RETURN, yes)]


def refusing(names: Sequence[str], code: int, here: str) -> list[bytes]:
    """Return a filter that answers these calls with an error and allows all else, as container runtimes' filters do."""
    start = [_op(_LOAD, _AT_NUMBER)]
    for name in names:
        start += for_call(name, here, [_op(_RETURN, _ERRNO | code)])
    return [*start, _op(_RETURN, _ALLOW)]


def for_call(name: str, here: str, block: list[bytes]) -> list[bytes]:
    """Return instructions that run `block`, which returns, when the call is this one."""
    found = number(name, here)
    return [] if found is None else [_op(_EQUAL, found, 0, len(block)), *block]


def _argument(index: int) -> int:
    return _AT_ARGUMENTS + 8 * index  # the low word first, on both machines


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
