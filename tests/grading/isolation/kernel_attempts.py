"""Attempt what a submission must not be able to do, and what it must, and make these attempts for real.

An attempt that raises `OSError` was prevented. Tests ensure that each attempt succeeds without isolation.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxguide.grading.isolation import rlimits, self_test, syscalls
from jaxguide.grading.isolation.privileges import READING
from jaxguide.grading.isolation.self_test import HONEST, MEMORY_BYTES, Targets, attempts_in, new_targets
from jaxguide.grading.isolation.stack import LANDLOCK, SECCOMP, UNPRIVILEGED, Isolation

LIMITS = "limits"
# Of the kernel's interface; Python has no names for these.
_AT_FDCWD, _SET_FLAGS = -100, 0x40086602
_LIMIT_OF_TIME, _NO_SUCH_THREAD, _NO_SUCH_MODE = 0, 2**22 + 1, 99
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from kernel_attempts import main; main()"


def outcomes(isolation: Isolation, forbidden: str = "", **config: Any) -> dict[str, Any]:
    """Make all attempts in a process of its own.

    Args:
        isolation: what the process enters.
        forbidden: a key of `FORBIDDEN`, to make only these attempts.
        config: more for `enter`, such as 'landlock_version'.

    Returns:
        What `attempts_in` returned.
    """
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", _BOOT, json.dumps([place for place in sys.path if place])],
        input=json.dumps([isolation.parts, isolation.reads_as_root, forbidden, config]),
        capture_output=True,
        text=True,
        env={"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tempfile.gettempdir(),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["missing"], found["error"]) == (None, None)
    return found


def main() -> None:
    parts, reads_as_root, forbidden, config = json.load(sys.stdin)
    chosen = FORBIDDEN[forbidden] if forbidden else [attempt for some in FORBIDDEN.values() for attempt in some]
    with new_targets() as targets:
        isolation = Isolation(parts, reads_as_root=reads_as_root)
        print(json.dumps(attempts_in(isolation, chosen, MUST_WORK, targets, **config)))


class Prevented(OSError):
    """The system reported no error, but the attempt had no effect."""


def start_a_program(_targets: Targets) -> None:
    """Start a program that does not exist, because one that does would replace this process."""
    with _unless(errno.ENOENT):
        os.execv("/no/such/program", ["program"])


def open_a_socket(_targets: Targets) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def signal_its_group(_targets: Targets) -> None:
    os.kill(0, 0)


def limit_the_prober(targets: Targets) -> None:
    syscalls.call("prlimit64", targets.process, 7, None, None)


def be_told_by_signal(_targets: Targets) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, os.getpid())
    os.close(reading)
    os.close(writing)


def outlive_its_parent(_targets: Targets) -> None:
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 0)


def hide_what_it_holds_open(_targets: Targets) -> None:
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def change_a_date(targets: Targets) -> None:
    before = os.stat(targets.key).st_mtime_ns
    os.utime(targets.key, ns=(before - 10**9, before - 10**9))
    if os.stat(targets.key).st_mtime_ns == before:
        raise Prevented(errno.EPERM, "the date did not change")


def empty_a_file_open_for_reading(targets: Targets) -> None:
    os.close(os.open(targets.key, os.O_RDONLY | os.O_TRUNC))


def empty_a_file_open_for_nothing(targets: Targets) -> None:
    os.close(os.open(targets.key, os.O_ACCMODE | os.O_TRUNC))


def open_by_a_structure(targets: Targets) -> None:
    """Open a file by arguments that no filter can read."""
    how = (os.O_RDONLY | os.O_CLOEXEC).to_bytes(8, "little") + bytes(16)
    os.close(syscalls.call("openat2", _AT_FDCWD, os.fsencode(targets.key) + b"\0", how, len(how)))


def change_how_a_file_is_kept(targets: Targets) -> None:
    with _reading(targets) as file, _unless(errno.EFAULT, errno.ENOTTY, errno.EOPNOTSUPP):
        syscalls.call("ioctl", file, _SET_FLAGS, None)


def kill_itself(_targets: Targets) -> None:
    """Send a signal that ends a process, made harmless here so that it ends none."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGUSR1)


def kill_its_thread(_targets: Targets) -> None:
    with _unless(errno.ESRCH):
        syscalls.call("tgkill", os.getpid(), _NO_SUCH_THREAD, signal.SIGKILL)


def queue_a_signal(_targets: Targets) -> None:
    with _unless(errno.EFAULT):
        syscalls.call("rt_sigqueueinfo", os.getpid(), signal.SIGKILL, None)


def queue_a_signal_for_its_thread(_targets: Targets) -> None:
    with _unless(errno.EFAULT):
        syscalls.call("rt_tgsigqueueinfo", os.getpid(), os.getpid(), signal.SIGKILL, None)


def limit_its_own_time(_targets: Targets) -> None:
    syscalls.call("prlimit64", 0, _LIMIT_OF_TIME, _own_time_limit(), None)


def limit_its_own_time_the_old_way(_targets: Targets) -> None:
    syscalls.call("setrlimit", _LIMIT_OF_TIME, _own_time_limit())


def _own_time_limit() -> bytes:
    found = ctypes.create_string_buffer(16)
    syscalls.call("prlimit64", 0, _LIMIT_OF_TIME, None, ctypes.addressof(found))
    return found.raw


def limit_its_own_calls(_targets: Targets) -> None:
    with _unless(errno.EINVAL):
        syscalls.prctl(syscalls.PR_SET_SECCOMP, _NO_SUCH_MODE)


def ask_for_a_lease(targets: Targets) -> None:
    with _reading(targets) as file:
        fcntl.fcntl(file, fcntl.F_GETLEASE)


def be_told_of_changes(targets: Targets) -> None:
    folder = os.open(os.path.dirname(targets.key), os.O_RDONLY)
    try:
        with _unless(errno.EINVAL):
            fcntl.fcntl(folder, fcntl.F_NOTIFY, 0)
    finally:
        os.close(folder)


@contextlib.contextmanager
def _reading(targets: Targets) -> Iterator[int]:
    descriptor = os.open(targets.key, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def mount_something(targets: Targets) -> None:
    syscalls.call("mount", b"none", os.fsencode(targets.scratch), b"tmpfs", 0, None)
    syscalls.call("umount2", os.fsencode(targets.scratch), 2)


def hold_a_capability(_targets: Targets) -> None:
    (held,) = [int(line.split()[1], 16) for line in open("/proc/self/status") if line.startswith("CapEff:")]  # noqa: SIM115
    if not held & ~READING:
        raise Prevented(errno.EPERM, "no capabilities")


def gain_privileges(_targets: Targets) -> None:
    if syscalls.prctl(syscalls.PR_GET_NO_NEW_PRIVS):
        raise Prevented(errno.EPERM, "no new privileges")


def open_many_files(_targets: Targets) -> None:
    opened: list[int] = []
    try:
        for _file in range(rlimits.DESCRIPTORS + 1):
            opened.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401  (those opened are closed)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def take_much_memory(_targets: Targets) -> None:
    import mmap

    mmap.mmap(-1, MEMORY_BYTES + 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


# For each part, the attempts that it must prevent by itself.
FORBIDDEN: dict[str, tuple[Callable[[Targets], None], ...]] = {
    UNPRIVILEGED: (self_test.be_root, hold_a_capability, mount_something, gain_privileges),
    LIMITS: (self_test.write_a_large_file, open_many_files, take_much_memory),
    LANDLOCK: (self_test.read_the_key, self_test.write_outside),
    # The filter refuses other calls whatever their arguments, as `test_isolation_seccomp` shows.
    SECCOMP: (
        *(self_test.fork, self_test.connect_on_the_machine, self_test.trace_a_process, self_test.signal_another),
        *(self_test.change_a_mode, start_a_program, open_a_socket, signal_its_group, limit_the_prober),
        *(be_told_by_signal, outlive_its_parent, hide_what_it_holds_open, change_a_date),
        *(empty_a_file_open_for_reading, empty_a_file_open_for_nothing, open_by_a_structure),
        *(change_how_a_file_is_kept, kill_itself, kill_its_thread, queue_a_signal, queue_a_signal_for_its_thread),
        *(limit_its_own_time, limit_its_own_time_the_old_way, limit_its_own_calls, ask_for_a_lease),
        be_told_of_changes,
    ),
}


def start_a_thread(_targets: Targets) -> None:
    done: list[bool] = []
    thread = threading.Thread(target=done.append, args=(True,))
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from None
    thread.join()


def pair_sockets(_targets: Targets) -> None:
    left, right = socket.socketpair()
    left.send(b".")
    right.recv(1)
    left.close()
    right.close()


def use_the_scratch(targets: Targets) -> None:
    file = Path(targets.scratch, "note")
    file.write_text("x")
    file.read_text()
    file.unlink()


def read_its_own_state(_targets: Targets) -> None:
    Path("/proc/self/status").read_text()
    Path("/proc/meminfo").read_text()


def use_devices(_targets: Targets) -> None:
    Path(os.devnull).write_text("x")
    Path("/dev/urandom").open("rb").close()


def signal_itself(_targets: Targets) -> None:
    os.kill(os.getpid(), 0)
    os.kill(os.getpid(), signal.SIGCONT)


def lock_its_own_file(targets: Targets) -> None:
    with open(Path(targets.scratch, "locked"), "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)


def read_its_own_limits(_targets: Targets) -> None:
    resource.getrlimit(resource.RLIMIT_CPU)


MUST_WORK: tuple[Callable[[Targets], None], ...] = (
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
