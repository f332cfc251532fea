"""Attempt what a submission must not be able to do, and what it must; `kernel_probe` makes these attempts for real.

An attempt that raises `OSError` was prevented. Tests ensure that each attempt succeeds without its layer.
"""

import contextlib
import ctypes
import dataclasses
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxguide.grading.isolation import rlimits, syscalls
from jaxguide.grading.isolation.self_test import HONEST, MEMORY_BYTES, PREVENTED, Targets
from jaxguide.grading.isolation.tier import (
    AUDIT_HOOK,
    CAPABILITIES,
    IPC_NAMESPACE,
    LANDLOCK,
    LAYERS,
    MOUNT_NAMESPACE,
    NO_NEW_PRIVILEGES,
    PROCESS,
    RLIMITS,
    SECCOMP,
    STRONG,
    USER_NAMESPACE,
)

SCRATCH_BYTES = 2**20
_SHARED_MEMORY_SIZE = 4096
# Of the kernel's interface; Python has no names for these.
_AT_FDCWD, _SET_FLAGS, _PAGE_OUT = -100, 0x40086602, 21
_OFD_GETLK, _OFD_SETLK, _GET_HINT, _LOCK = 36, 37, 1035, "<hhxxxxqqixxxx"
_LIMIT_OF_TIME, _NO_SUCH_THREAD, _NO_SUCH_MODE = 0, 2**22 + 1, 99


class Prevented(OSError):
    """The system reported no error, but the attempt had no effect."""


@dataclasses.dataclass(frozen=True)
class KernelTargets(Targets):
    """What these attempts aim at.

    Args:
        message_key: the key of a shared memory segment.
        user_namespace: the name of the probe's user namespace.
        root: the device and inode of the probe's `/`.
    """

    message_key: int
    user_namespace: str
    root: tuple[int, int]


def root() -> tuple[int, int]:
    """Return the device and inode of this process's `/`."""
    found = os.stat("/")
    return found.st_dev, found.st_ino


def list_the_root(targets: KernelTargets) -> None:
    # Do not compare names: if Python is in a home folder, the worker's own root contains `home` too.
    os.listdir("/")
    if root() != tuple(targets.root):
        raise Prevented(errno.ENOENT, "another root")


def fill_the_scratch(targets: KernelTargets) -> None:
    with open(Path(targets.scratch, "large"), "wb") as file:
        for _mebibyte in range(2 * SCRATCH_BYTES // 2**20):
            file.write(bytes(2**20))


def start_a_program(_targets: KernelTargets) -> None:
    """Start a program that does not exist, because one that does would replace this process."""
    with _unless(errno.ENOENT):
        os.execv("/no/such/program", ["program"])


def open_a_socket(_targets: KernelTargets) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def open_a_local_socket(_targets: KernelTargets) -> None:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).close()


def read_a_process(_targets: KernelTargets) -> None:
    syscalls.call("process_vm_readv", os.getpid(), None, 0, None, 0, 0)


def signal_its_group(_targets: KernelTargets) -> None:
    os.kill(0, 0)


def limit_the_prober(targets: KernelTargets) -> None:
    syscalls.call("prlimit64", targets.process, 7, None, None)


def be_told_by_signal(_targets: KernelTargets) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, os.getpid())
    os.close(reading)
    os.close(writing)


def outlive_its_parent(_targets: KernelTargets) -> None:
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 0)


def hide_what_it_holds_open(_targets: KernelTargets) -> None:
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def keep_a_key(_targets: KernelTargets) -> None:
    syscalls.call("add_key", b"user", b"jaxguide", b"x", 1, -3)


def set_up_io_uring(_targets: KernelTargets) -> None:
    with _unless(errno.EFAULT, errno.EINVAL):
        syscalls.call("io_uring_setup", 1, None)


def load_bpf(_targets: KernelTargets) -> None:
    with _unless(errno.EINVAL, errno.EFAULT, errno.E2BIG):
        syscalls.call("bpf", -1, None, 0)


def watch_page_faults(_targets: KernelTargets) -> None:
    with _unless(errno.EINVAL):
        syscalls.call("userfaultfd", -1)


def watch_performance(_targets: KernelTargets) -> None:
    with _unless(errno.EFAULT, errno.EINVAL):
        syscalls.call("perf_event_open", None, 0, -1, -1, 0)


def make_memory_files(_targets: KernelTargets) -> None:
    os.close(os.memfd_create("probe"))


def make_a_namespace(_targets: KernelTargets) -> None:
    syscalls.call("unshare", 0)


def enter_a_namespace(_targets: KernelTargets) -> None:
    with _unless(errno.EBADF):
        syscalls.call("setns", -1, 0)


def ask_for_mounts(_targets: KernelTargets) -> None:
    with _unless(errno.EBADF):
        syscalls.call("open_tree", -1, b"nowhere", 0)


def find_shared_memory(targets: KernelTargets) -> None:
    if ctypes.CDLL(None, use_errno=True).shmget(targets.message_key, _SHARED_MEMORY_SIZE, 0) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def change_a_date(targets: KernelTargets) -> None:
    before = os.stat(targets.key).st_mtime_ns
    os.utime(targets.key, ns=(before - 10**9, before - 10**9))
    if os.stat(targets.key).st_mtime_ns == before:
        raise Prevented(errno.EPERM, "the date did not change")


def cut_off_a_file(targets: KernelTargets) -> None:
    os.truncate(targets.key, os.stat(targets.key).st_size)


def empty_a_file_open_for_reading(targets: KernelTargets) -> None:
    os.close(os.open(targets.key, os.O_RDONLY | os.O_TRUNC))


def empty_a_file_open_for_nothing(targets: KernelTargets) -> None:
    os.close(os.open(targets.key, os.O_ACCMODE | os.O_TRUNC))


def open_by_a_structure(targets: KernelTargets) -> None:
    """Open a file by arguments that no filter can read."""
    how = (os.O_RDONLY | os.O_CLOEXEC).to_bytes(8, "little") + bytes(16)
    os.close(syscalls.call("openat2", _AT_FDCWD, os.fsencode(targets.key) + b"\0", how, len(how)))


def change_how_a_file_is_kept(targets: KernelTargets) -> None:
    with _reading(targets) as file, _unless(errno.EFAULT, errno.ENOTTY, errno.EOPNOTSUPP):
        syscalls.call("ioctl", file, _SET_FLAGS, None)


def kill_itself(_targets: KernelTargets) -> None:
    """Send a signal that ends a process, made harmless here so that it ends none."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGUSR1)


def kill_its_thread(_targets: KernelTargets) -> None:
    with _unless(errno.ESRCH):
        syscalls.call("tgkill", os.getpid(), _NO_SUCH_THREAD, signal.SIGKILL)


def queue_a_signal(_targets: KernelTargets) -> None:
    with _unless(errno.EFAULT):
        syscalls.call("rt_sigqueueinfo", os.getpid(), signal.SIGKILL, None)


def queue_a_signal_for_its_thread(_targets: KernelTargets) -> None:
    with _unless(errno.EFAULT):
        syscalls.call("rt_tgsigqueueinfo", os.getpid(), os.getpid(), signal.SIGKILL, None)


def set_a_timer_that_kills(_targets: KernelTargets) -> None:
    with _unless(errno.EFAULT):
        syscalls.call("timer_create", 0, None, None)


def be_told_of_a_message(_targets: KernelTargets) -> None:
    with _unless(errno.EBADF, errno.ENOSYS):
        syscalls.call("mq_notify", -1, None)


def limit_its_own_time(_targets: KernelTargets) -> None:
    syscalls.call("prlimit64", 0, _LIMIT_OF_TIME, _own_time_limit(), None)


def limit_its_own_time_the_old_way(_targets: KernelTargets) -> None:
    syscalls.call("setrlimit", _LIMIT_OF_TIME, _own_time_limit())


def _own_time_limit() -> bytes:
    found = ctypes.create_string_buffer(16)
    syscalls.call("prlimit64", 0, _LIMIT_OF_TIME, None, ctypes.addressof(found))
    return found.raw


def limit_its_own_calls(_targets: KernelTargets) -> None:
    with _unless(errno.EINVAL):
        syscalls.prctl(syscalls.PR_SET_SECCOMP, _NO_SUCH_MODE)


def filter_its_own_calls(_targets: KernelTargets) -> None:
    with _unless(errno.EINVAL):
        syscalls.call("seccomp", _NO_SUCH_MODE, 0, None)


def lock_a_file(targets: KernelTargets) -> None:
    with _reading(targets) as mine, _reading(targets) as other:
        fcntl.flock(mine, fcntl.LOCK_EX)
        with _unless(errno.EWOULDBLOCK):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise Prevented(errno.EPERM, "the lock had no effect")


def lock_a_part_of_a_file(targets: KernelTargets) -> None:
    with _reading(targets) as mine, _reading(targets) as other:
        fcntl.fcntl(mine, _OFD_SETLK, struct.pack(_LOCK, fcntl.F_RDLCK, 0, 0, 1, 0))
        asked = struct.pack(_LOCK, fcntl.F_WRLCK, 0, 0, 1, 0)
        if struct.unpack(_LOCK, fcntl.fcntl(other, _OFD_GETLK, asked))[0] == fcntl.F_UNLCK:
            raise Prevented(errno.EPERM, "the lock had no effect")


def ask_for_a_lease(targets: KernelTargets) -> None:
    with _reading(targets) as file:
        fcntl.fcntl(file, fcntl.F_GETLEASE)


def be_told_of_changes(targets: KernelTargets) -> None:
    folder = os.open(os.path.dirname(targets.key), os.O_RDONLY)
    try:
        with _unless(errno.EINVAL):
            fcntl.fcntl(folder, fcntl.F_NOTIFY, 0)
    finally:
        os.close(folder)


def read_a_files_hint(targets: KernelTargets) -> None:
    with _reading(targets) as file:
        fcntl.fcntl(file, _GET_HINT, bytes(8))


def ask_what_is_in_memory(_targets: KernelTargets) -> None:
    syscalls.call("mincore", 0, 0, None)


def count_what_is_in_memory(_targets: KernelTargets) -> None:
    with _unless(errno.EBADF, errno.EFAULT, errno.ENOSYS):
        syscalls.call("cachestat", -1, None, None, 0)


def read_what_is_in_memory(targets: KernelTargets) -> None:
    with _reading(targets) as file, _unless(errno.EAGAIN, errno.EOPNOTSUPP):
        os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT)


def write_with_a_flag(targets: KernelTargets) -> None:
    with open(Path(targets.scratch, "flagged"), "wb") as file:
        os.pwritev(file.fileno(), [b"x"], 0, os.RWF_DSYNC)


def load_into_memory(_targets: KernelTargets) -> None:
    with _unless(errno.EBADF):
        syscalls.call("readahead", -1, 0, 0)
        raise Prevented(errno.EPERM, "nothing was read")


def drop_from_memory(_targets: KernelTargets) -> None:
    with _unless(errno.EBADF):
        syscalls.call("fadvise64", -1, 0, 0, 4)
        raise Prevented(errno.EPERM, "nothing was dropped")


def page_out(_targets: KernelTargets) -> None:
    with _unless(errno.EINVAL):
        syscalls.call("madvise", 0, 0, _PAGE_OUT)


def measure_the_disk(targets: KernelTargets) -> None:
    os.statvfs(targets.key)


def start_watching(_targets: KernelTargets) -> None:
    os.close(syscalls.call("inotify_init1", os.O_CLOEXEC))


def watch_a_folder(targets: KernelTargets) -> None:
    with _unless(errno.EBADF):
        syscalls.call("inotify_add_watch", -1, os.fsencode(targets.outside) + b"\0", 0x100)  # IN_CREATE


def read_anothers_priority(targets: KernelTargets) -> None:
    os.getpriority(os.PRIO_PROCESS, targets.process)


def read_anothers_session(targets: KernelTargets) -> None:
    os.getsid(targets.process)


def read_anothers_group(targets: KernelTargets) -> None:
    os.getpgid(targets.process)


def read_anothers_processors(targets: KernelTargets) -> None:
    os.sched_getaffinity(targets.process)


@contextlib.contextmanager
def _reading(targets: KernelTargets) -> Iterator[int]:
    descriptor = os.open(targets.key, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def stay_in_the_users_namespace(targets: KernelTargets) -> None:
    if os.readlink("/proc/self/ns/user") != targets.user_namespace:
        raise Prevented(errno.EPERM, "another namespace of users")


def mount_something(targets: KernelTargets) -> None:
    syscalls.call("mount", b"none", os.fsencode(targets.scratch), b"tmpfs", 0, None)
    syscalls.call("umount2", os.fsencode(targets.scratch), 2)


def hold_a_capability(_targets: KernelTargets) -> None:
    from jaxguide.grading.isolation.privileges import READING, effective_capabilities

    if not effective_capabilities() & ~READING:
        raise Prevented(errno.EPERM, "no capabilities")


def gain_privileges(_targets: KernelTargets) -> None:
    if syscalls.prctl(syscalls.PR_GET_NO_NEW_PRIVS):
        raise Prevented(errno.EPERM, "no new privileges")


def open_many_files(_targets: KernelTargets) -> None:
    opened: list[int] = []
    try:
        for _file in range(rlimits.DESCRIPTORS + 1):
            opened.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401  (those opened are closed)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def take_much_memory(_targets: KernelTargets) -> None:
    import mmap

    mmap.mmap(-1, MEMORY_BYTES + 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


# For each layer, the attempts that it must prevent by itself, besides those of the self-test.
_MORE: dict[str, tuple[Callable[[KernelTargets], None], ...]] = {
    USER_NAMESPACE: (stay_in_the_users_namespace,),
    IPC_NAMESPACE: (find_shared_memory,),
    MOUNT_NAMESPACE: (list_the_root, fill_the_scratch),
    CAPABILITIES: (hold_a_capability, mount_something),
    NO_NEW_PRIVILEGES: (gain_privileges,),
    RLIMITS: (open_many_files, take_much_memory),
    LANDLOCK: (list_the_root,),
    AUDIT_HOOK: (start_a_program,),
    SECCOMP: (
        *(start_a_program, open_a_socket, open_a_local_socket, read_a_process, signal_its_group),
        *(limit_the_prober, be_told_by_signal),
        *(outlive_its_parent, keep_a_key, set_up_io_uring, load_bpf, watch_page_faults, watch_performance),
        *(hide_what_it_holds_open, make_memory_files, make_a_namespace, enter_a_namespace, ask_for_mounts),
        *(change_a_date, cut_off_a_file, empty_a_file_open_for_reading, empty_a_file_open_for_nothing),
        *(open_by_a_structure, change_how_a_file_is_kept, kill_itself, kill_its_thread, queue_a_signal),
        *(queue_a_signal_for_its_thread, set_a_timer_that_kills, be_told_of_a_message, limit_its_own_time),
        *(limit_its_own_time_the_old_way, limit_its_own_calls, filter_its_own_calls, lock_a_file),
        *(lock_a_part_of_a_file, ask_for_a_lease, be_told_of_changes, read_a_files_hint, ask_what_is_in_memory),
        *(count_what_is_in_memory, read_what_is_in_memory, write_with_a_flag, load_into_memory, drop_from_memory),
        *(page_out, measure_the_disk, start_watching, watch_a_folder, read_anothers_priority, read_anothers_session),
        *(read_anothers_group, read_anothers_processors),
    ),
}
MUST_FAIL = {layer: (*PREVENTED.get(layer, ()), *_MORE.get(layer, ())) for layer in (*LAYERS[STRONG], *LAYERS[PROCESS])}


def start_a_thread(_targets: KernelTargets) -> None:
    done: list[bool] = []
    thread = threading.Thread(target=done.append, args=(True,))
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from None
    thread.join()


def pair_sockets(_targets: KernelTargets) -> None:
    left, right = socket.socketpair()
    left.send(b".")
    right.recv(1)
    left.close()
    right.close()


def use_the_scratch(targets: KernelTargets) -> None:
    file = Path(targets.scratch, "note")
    file.write_text("x")
    file.read_text()
    file.unlink()


def read_its_own_state(_targets: KernelTargets) -> None:
    Path("/proc/self/status").read_text()
    Path("/proc/meminfo").read_text()


def use_devices(_targets: KernelTargets) -> None:
    Path(os.devnull).write_text("x")
    Path("/dev/urandom").open("rb").close()


def signal_itself(_targets: KernelTargets) -> None:
    os.kill(os.getpid(), 0)
    os.kill(os.getpid(), signal.SIGCONT)


def lock_its_own_file(targets: KernelTargets) -> None:
    with open(Path(targets.scratch, "locked"), "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)


def read_its_own_limits(_targets: KernelTargets) -> None:
    resource.getrlimit(resource.RLIMIT_CPU)


MUST_WORK: tuple[Callable[[KernelTargets], None], ...] = (
    *(*HONEST, start_a_thread, pair_sockets, use_the_scratch, read_its_own_state, use_devices, signal_itself),
    *(lock_its_own_file, read_its_own_limits),
)


class _unless:  # noqa: N801  (read as a statement)
    """Count these errors as success: the kernel allowed the call and only rejected its nonsensical arguments."""

    def __init__(self, *codes: int):
        self.codes = codes

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> bool:
        return isinstance(error, OSError) and error.errno in self.codes
