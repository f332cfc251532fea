"""Refuse this process the system calls that running a student's function never needs, with a seccomp filter.

It can start threads, but no programs or processes, and has no access to the network, to other processes, or to complex
interfaces of the kernel such as bpf and io_uring. See
https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html; the numbers are the kernel's.
"""

import ctypes
import errno
import os
import struct

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
# Instructions: load a word, jump if equal, jump if greater or equal, mask, return.
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16
# Calls from this number on are newer than this module. They get ENOSYS, upon which libc falls back to older calls.
_FIRST_UNKNOWN = 463
_SET_MODE_FILTER, _ALL_THREADS = 1, 1

# Calls that are refused only in part, see `_rules`. The last five are needed and cannot harm other processes.
_PARTLY = {"clone", "clone3", "kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64", "setpriority"} | {
    *("sched_setaffinity", "socketpair", "sendto", "fcntl", "ioctl", "prctl"),
    *("seccomp", "capset", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
}
# Changes of a file's mode, owner, dates and attributes report success but do nothing. Honest code makes them when it
# copies files, but in a tier without its own mounts, many visible files belong to the grader's own user.
IGNORED = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
)
REFUSED = tuple(name for name in NUMBERS if name not in (*_PARTLY, *IGNORED))

_CLONE_THREAD = 0x10000
_CLONE_NAMESPACES = 0x7E020080  # mount, cgroup, uts, ipc, user, pid, net, time
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15  # make the kernel signal a given process
_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C
_AF_UNIX, _PRIO_PROCESS = 1, 0


class SeccompMissing(Exception):
    """This kernel does not have seccomp filters, or this machine's call numbers are not known."""


def filter_calls() -> None:
    """Install the filter, irrevocably, for this process, all of its threads and everything it starts.

    Call it in the process to confine, since the filter allows signals only to the ID of the process that calls it.

    Raises:
        SeccompMissing: the kernel does not support it.
    """
    here = machine()
    if here is None:
        raise SeccompMissing("the system calls of this machine are not known")
    install(filter_program(os.getpid(), here))


def install(instructions: list[bytes]) -> None:
    """Install a filter in the kernel, irrevocably.

    Raises:
        SeccompMissing: the kernel does not support it.
    """
    code = ctypes.create_string_buffer(b"".join(instructions))
    header = struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(code))
    try:
        prctl(PR_SET_NO_NEW_PRIVS, 1)  # otherwise only root may install filters
        left_out = call("seccomp", _SET_MODE_FILTER, _ALL_THREADS, header)
    except OSError as error:
        raise SeccompMissing(str(error)) from error
    if left_out:
        raise SeccompMissing("a thread that is already running cannot be confined")


def filter_program(own_pid: int, here: str) -> list[bytes]:
    """Return the filter's instructions for a process with this ID on the given architecture, 'x86_64' or 'aarch64'."""
    start = [
        _op(_LOAD, _AT_ARCHITECTURE),
        _op(_EQUAL, _ARCHITECTURES[here], 1, 0),
        _op(_RETURN, _KILL),  # 32-bit calls have other numbers
        _op(_LOAD, _AT_NUMBER),
    ]
    if here == "x86_64":
        start += [_op(_AT_LEAST, _X32_BIT, 0, 1), _op(_RETURN, _KILL)]
    start += [_op(_AT_LEAST, _FIRST_UNKNOWN, 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    refuse = _ERRNO | errno.EPERM
    for name in REFUSED:
        start += for_call(name, here, [_op(_RETURN, refuse)])
    for name in IGNORED:
        start += for_call(name, here, [_op(_RETURN, _ERRNO)])  # error 0: report success, do nothing
    for name, block in _rules(own_pid).items():
        start += for_call(name, here, block)
    return [*start, _op(_RETURN, _ALLOW)]


def _rules(own_pid: int) -> dict[str, list[bytes]]:
    """Return the instructions for the calls that are refused only in part."""
    to_itself = _if_argument(0, (own_pid,), allowed=True)
    to_itself_or_zero = _if_argument(0, (0, own_pid), allowed=True)
    nobody_named = [  # sendto: a pair of sockets needs no address
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
        # Its flags are in memory, which filters cannot read; without it, libc falls back to `clone`.
        "clone3": [_op(_RETURN, _ERRNO | errno.ENOSYS)],
        **dict.fromkeys(("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"), to_itself),
        **dict.fromkeys(("prlimit64", "sched_setaffinity"), to_itself_or_zero),
        "setpriority": own_priority,
        "socketpair": _if_argument(0, (_AF_UNIX,), allowed=True),  # asyncio wakes itself with a pair
        "sendto": nobody_named,
        "fcntl": _if_argument(1, (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX), allowed=False),
        "ioctl": _if_argument(1, (_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX), allowed=False),
        # By clearing the first, a worker would outlive the grader; by the second, it would hide its open files.
        "prctl": _if_argument(0, (PR_SET_PDEATHSIG, PR_SET_DUMPABLE), allowed=False),
    }


def _if_argument(index: int, values: tuple[int, ...], allowed: bool) -> list[bytes]:
    """Return a block that allows only these values of an argument's low word, or refuses only these."""
    yes, no = (_ALLOW, _ERRNO | errno.EPERM) if allowed else (_ERRNO | errno.EPERM, _ALLOW)
    jumps = [_op(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [_op(_LOAD, _argument(index)), *jumps, _op(_RETURN, no), _op(_RETURN, yes)]


def for_call(name: str, here: str, block: list[bytes]) -> list[bytes]:
    """Return instructions that run `block`, which ends with a return, if the call is this one."""
    found = number(name, here)
    return [] if found is None else [_op(_EQUAL, found, 0, len(block)), *block]


def _argument(index: int) -> int:
    return _AT_ARGUMENTS + 8 * index  # on both machines, the low word comes first


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
