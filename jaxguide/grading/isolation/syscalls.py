"""Make Linux system calls by name, through ctypes, on x86_64 and aarch64."""

import ctypes
import errno
import functools
import os
import platform
import sys
from typing import Any

# name: (x86_64, aarch64), as in the kernel's asm/unistd_64.h and asm-generic/unistd.h; None if it does not exist.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # programs and processes
    **{"clone": (56, 220), "clone3": (435, 435), "fork": (57, None), "vfork": (58, None), "execve": (59, 221)},
    **{"execveat": (322, 281), "unshare": (272, 97), "setns": (308, 268), "personality": (135, 92)},
    # other processes
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272)},
    **{"process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_open": (434, 434)},
    **{"pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "kill": (62, 129), "tkill": (200, 130)},
    **{"tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "prlimit64": (302, 261)},
    **{"setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setaffinity": (203, 122)},
    **{"sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274)},
    **{"migrate_pages": (256, 238), "move_pages": (279, 239)},
    # ways to end by a signal that the kernel sends
    **{"timer_create": (222, 107), "mq_notify": (244, 184), "setrlimit": (160, 164)},
    # network
    **{"socket": (41, 198), "socketpair": (53, 199), "bind": (49, 200), "connect": (42, 203), "listen": (50, 201)},
    **{"accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206), "sendmsg": (46, 211), "recvmsg": (47, 212)},
    **{"sendmmsg": (307, 269), "recvmmsg": (299, 243)},
    # memory and messages that outlive a process or are not counted as its own
    **{"shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193)},
    **{"semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188)},
    **{"msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181), "memfd_create": (319, 279)},
    **{"memfd_secret": (447, 447), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)},
    # complex interfaces of the kernel
    **{"io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427)},
    **{"io_setup": (206, 0), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282)},
    **{"modify_ldt": (154, None), "iopl": (172, None), "ioperm": (173, None), "syslog": (103, 116)},
    # file systems
    **{"mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "swapon": (167, 224)},
    **{"swapoff": (168, 225), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430)},
    **{"fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442)},
    **{"open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "fanotify_init": (300, 262)},
    **{"fanotify_mark": (301, 263), "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89)},
    **{"mknod": (133, None), "mknodat": (259, 33), "truncate": (76, 45), "openat2": (437, 437)},
    **{"open": (2, None), "openat": (257, 56)},
    # what watches the files of others, or makes their disk work
    **{"inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27)},
    **{"sync": (162, 81), "syncfs": (306, 267)},
    # metadata of files: its owner can change it even if Landlock or a mode keeps the file from being opened
    **{"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452)},
    **{"chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54)},
    **{"utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88)},
    **{"setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)},
    **{"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)},
    # calls that are refused only in part, and those that this package makes before it installs the filter
    **{"fcntl": (72, 25), "ioctl": (16, 29), "prctl": (157, 167), "seccomp": (317, 277), "capset": (126, 91)},
    **{"landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445), "landlock_restrict_self": (446, 446)},
}

_MACHINES = {"x86_64": 0, "aarch64": 1}

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 8, 22, 24
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 39, 47, 4
PR_SET_CHILD_SUBREAPER, PR_SCHED_CORE = 36, 62


def machine() -> str | None:
    """Return 'x86_64' or 'aarch64', or None if this machine's call numbers are not known."""
    name = platform.machine()
    # A 32-bit Python on a 64-bit kernel uses another table of numbers.
    return name if sys.platform == "linux" and name in _MACHINES and sys.maxsize > 2**32 else None


def number(name: str, here: str | None = None) -> int | None:
    """Return the number of a call on a machine, by default this one, or None if it does not exist there."""
    here = here or machine()
    return None if here is None else NUMBERS[name][_MACHINES[here]]


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call.

    Args:
        name: a key of `NUMBERS`.
        arguments: integers, bytes for a pointer to them, None for a null pointer.

    Returns:
        What the kernel returned.

    Raises:
        OSError: the kernel refused, or does not have this call.
    """
    found = number(name)
    if found is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    return call_number(found, *arguments)


def call_number(found: int, *arguments: int | bytes | None) -> int:
    """Like `call`, but takes a call's number; use it only for calls whose number is the same on every architecture."""
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(_libc().syscall(ctypes.c_long(found), *converted))


def prctl(option: int, *arguments: int) -> int:
    """Set or get a property of this process, on any Linux machine.

    Raises:
        OSError: the kernel refused.
    """
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_libc().prctl(option, *padded))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
