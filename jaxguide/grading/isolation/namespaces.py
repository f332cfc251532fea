"""Put a worker into its own namespaces: users, processes, network, messages and mounts that it shares with no one."""

import ctypes
import os
import signal
from collections.abc import Iterable

from jaxguide.grading.isolation.syscalls import PR_SET_PDEATHSIG, call, prctl
from jaxguide.grading.isolation.tier import (
    IPC_NAMESPACE,
    MOUNT_NAMESPACE,
    NET_NAMESPACE,
    PID_NAMESPACE,
    USER_NAMESPACE,
)

_NEW_UTS = 0x04000000
_FLAGS = {
    USER_NAMESPACE: 0x10000000,
    PID_NAMESPACE: 0x20000000,
    NET_NAMESPACE: 0x40000000,
    IPC_NAMESPACE: 0x08000000,
    MOUNT_NAMESPACE: 0x00020000,
}


def unshare(names: Iterable[str]) -> None:
    """Leave the machine's namespaces of these kinds for new ones.

    For a new pid namespace, it is the next child that enters. In a new user namespace, this process keeps its user and
    group IDs, and may do in the new namespaces what root may.

    Raises:
        OSError: the system refuses.
    """
    wanted = set(names)
    flags = sum(_FLAGS[name] for name in wanted)
    if not flags:
        return
    user, group = os.geteuid(), os.getegid()
    call("unshare", flags | (_NEW_UTS if wanted - {USER_NAMESPACE} else 0))
    if USER_NAMESPACE in wanted:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        _write("/proc/self/uid_map", f"{user} {user} 1")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def start_init() -> int:
    """Start the first process of the new pid namespace, which does nothing; when it ends, all others in it end.

    If the worker itself were the first, it would ignore most signals, so no one could tell how it died.

    Returns:
        Its process ID outside the namespace.

    Raises:
        OSError: it did not start.
    """
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)  # ignoring SIGCHLD also reaps orphans
            os.write(told, b".")  # raises if the parent has already ended
            # Close inherited pipes, whose readers wait until the last writer closes them.
            os.closerange(0, 1 << 16)
            ctypes.CDLL(None).pause()
        finally:
            os._exit(1)
    os.close(told)
    try:
        if not os.read(ready, 1):
            raise ChildProcessError("the first process of a new namespace did not start")
    finally:
        os.close(ready)
    return pid
