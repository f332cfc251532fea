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
    PR_SCHED_CORE,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    PR_SET_SECCOMP,
    call,
    machine,
    number,
    prctl,
)

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSE, _UNKNOWN, _DO_NOTHING = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS, _ERRNO  # error 0: report success
# Instructions: load a word, jump if equal, jump if greater or equal, mask, return.
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16
# Calls from this number on are newer than this module. They get ENOSYS, upon which libc falls back to older calls.
_FIRST_UNKNOWN = 463
_SET_MODE_FILTER, _ALL_THREADS = 1, 1

# Some calls report success but do nothing, since honest code makes them.
IGNORED = (
    # Changes of a file's mode, owner, dates and attributes, as when it copies files. Many visible files may belong to
    # the grader's own user.
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
    # These make the disk, which others need too, work.
    *("sync", "syncfs"),
)

_CLONE_THREAD = 0x10000
_CLONE_NAMESPACES = 0x7E020080  # mount, cgroup, uts, ipc, user, pid, net, time
# Signals without effect: to ask whether a process exists, SIGCHLD, SIGCONT, SIGURG, SIGWINCH. A submission that could
# send itself others could end as if it had been killed from outside. What native code does wrong still ends it.
_HARMLESS = (0, 17, 18, 23, 28)
_KILLING_LIMITS = (0, 15)  # RLIMIT_CPU, RLIMIT_RTTIME
_OPEN_ACCESS, _OPEN_TRUNCATING = 0o3, 0o1000
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, locks, F_DUPFD_CLOEXEC. The others make all who open the file wait, let
# the kernel send signals, or take memory of pipes from others.
_FILE_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)
# TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2. Others could have signals sent, type for
# a terminal, or change files that are open for reading.
_DEVICE_REQUESTS = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
_AF_UNIX, _PRIO_PROCESS = 1, 0


def filter_calls() -> None:
    """Install the filter, irrevocably, for this process, all of its threads and everything it starts.

    Call it in the process to confine, since the filter allows signals only to the ID of the process that calls it.

    Raises:
        OSError: the kernel does not have seccomp filters, or this machine's call numbers are not known.
    """
    here = machine()
    if here is None:
        raise OSError("the system calls of this machine are not known")
    install(filter_program(os.getpid(), here))


def install(instructions: list[bytes]) -> None:
    """Install a filter in the kernel, irrevocably.

    Raises:
        OSError: the kernel does not have seccomp filters.
    """
    code = ctypes.create_string_buffer(b"".join(instructions))
    header = struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(code))
    prctl(PR_SET_NO_NEW_PRIVS, 1)  # otherwise only root may install filters
    if call("seccomp", _SET_MODE_FILTER, _ALL_THREADS, header):
        raise OSError("a thread that is already running cannot be confined")


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
    start += [_op(_AT_LEAST, _FIRST_UNKNOWN, 0, 1), _op(_RETURN, _UNKNOWN)]
    for name in REFUSED:
        start += for_call(name, here, [_op(_RETURN, _REFUSE)])
    for name in IGNORED:
        start += for_call(name, here, [_op(_RETURN, _DO_NOTHING)])
    for name, block in _rules(own_pid).items():
        start += for_call(name, here, block)
    return [*start, _op(_RETURN, _ALLOW)]


def _rules(own_pid: int) -> dict[str, list[bytes]]:
    """Return the instructions for the calls that are refused only in part."""
    allow = [_op(_RETURN, _ALLOW)]
    nobody_named = [  # sendto: a pair of sockets needs no address
        *(_op(_LOAD, _argument(4)), _op(_EQUAL, 0, 0, 2), _op(_LOAD, _argument(4) + 4), _op(_EQUAL, 0, 1, 0)),
        *(_op(_RETURN, _REFUSE), _op(_RETURN, _ALLOW)),
    ]
    own_limits = [
        *_require(0, 0, own_pid),
        # Without a new limit, the call only reads the old one.
        *(_op(_LOAD, _argument(2)), _op(_EQUAL, 0, 0, 3), _op(_LOAD, _argument(2) + 4), _op(_EQUAL, 0, 0, 1), *allow),
        *_by_argument(1, dict.fromkeys(_KILLING_LIMITS, _REFUSE), _ALLOW),
    ]
    # Landlock refuses this, too, but only from Linux 6.2.
    emptying = dict.fromkeys((_OPEN_TRUNCATING, _OPEN_TRUNCATING | _OPEN_ACCESS), _REFUSE)
    mask = _OPEN_TRUNCATING | _OPEN_ACCESS
    # By clearing the first, a worker would outlive the grader; by the second, it would hide its open files. The third
    # limits its calls at the price of being killed; the last keeps others from a processor.
    properties = (PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SCHED_CORE)
    not_there = [_op(_RETURN, _UNKNOWN)]
    harmless_signal, harmless_to_thread = ([*_require(0, own_pid), *_require(at, *_HARMLESS), *allow] for at in (1, 2))
    return {
        "clone": _by_argument(0, {_CLONE_THREAD: _ALLOW}, _REFUSE, mask=_CLONE_THREAD | _CLONE_NAMESPACES),
        # The arguments of these two are in memory, which filters cannot read; libc falls back to `clone` and `openat`.
        **dict.fromkeys(("clone3", "openat2"), not_there),
        **dict.fromkeys(("kill", "rt_sigqueueinfo"), harmless_signal),
        **dict.fromkeys(("tgkill", "rt_tgsigqueueinfo"), harmless_to_thread),
        "prlimit64": own_limits,
        "setrlimit": _by_argument(0, dict.fromkeys(_KILLING_LIMITS, _REFUSE), _ALLOW),
        "sched_setaffinity": [*_require(0, 0, own_pid), *allow],
        "setpriority": [*_require(0, _PRIO_PROCESS), *_require(1, 0), *allow],
        "socketpair": [*_require(0, _AF_UNIX), *allow],  # asyncio wakes itself with a pair
        "sendto": nobody_named,
        "open": _by_argument(1, emptying, _ALLOW, mask),
        "openat": _by_argument(2, emptying, _ALLOW, mask),
        "fcntl": [*_require(1, *_FILE_COMMANDS), *allow],
        "ioctl": [*_require(1, *_DEVICE_REQUESTS), *allow],
        "prctl": _by_argument(0, dict.fromkeys(properties, _REFUSE), _ALLOW),
    }


def _require(index: int, *values: int) -> list[bytes]:
    """Return instructions that refuse the call unless an argument's low word is one of these."""
    jumps = [_op(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [_op(_LOAD, _argument(index)), *jumps, _op(_RETURN, _REFUSE)]


def _by_argument(index: int, actions: dict[int, int], otherwise: int, mask: int | None = None) -> list[bytes]:
    """Return a block that decides on an argument's low word, or on those bits of it that are in `mask`."""
    block = [_op(_LOAD, _argument(index)), *([] if mask is None else [_op(_AND, mask)])]
    for value, action in actions.items():
        block += [_op(_EQUAL, value, 0, 1), _op(_RETURN, action)]
    return [*block, _op(_RETURN, otherwise)]


def for_call(name: str, here: str, block: list[bytes]) -> list[bytes]:
    """Return instructions that run `block`, which ends with a return, if the call is this one."""
    found = number(name, here)
    return [] if found is None else [_op(_EQUAL, found, 0, len(block)), *block]


def _argument(index: int) -> int:
    return _AT_ARGUMENTS + 8 * index  # on both machines, the low word comes first


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


REFUSED = tuple(name for name in NUMBERS if name not in IGNORED and name not in _rules(0))
