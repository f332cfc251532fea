"""Test the seccomp filter: its syscall numbers, and its decisions on both machines, one instruction at a time."""

import errno
import re
import struct
from pathlib import Path

import pytest
from needs import lacks

from jaxguide.grading.isolation import seccomp
from jaxguide.grading.isolation.syscalls import NUMBERS

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
OWN, OTHER = 4321, 77
ALLOWED, KILLED = "allowed", "killed"
HARMLESS = (0, 17, 18, 23, 28)
THREAD = 0x3D0F00  # the flags that glibc's pthread_create passes to clone


def decide(here: str, number: int, *arguments: int, architecture: int | None = None) -> str | int:
    """Run the filter on one system call and return `ALLOWED`, `KILLED` or the error number."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<iIQ6Q", number, architecture or MACHINES[here], 0, *padded)
    instructions = [struct.unpack("<HBBI", one) for one in seccomp.filter_program(OWN, here)]
    place = word = 0
    while True:
        code, if_true, if_false, value = instructions[place]
        place += 1
        if code == 0x20:
            (word,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            word &= value
        elif code == 0x06:
            if value & 0xFFFF0000 == 0x00050000:
                return value & 0xFFFF
            return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}[value]
        else:
            is_so = {0x15: word == value, 0x35: word >= value}[code]
            place += if_true if is_so else if_false


@pytest.mark.parametrize("here", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(here: str) -> None:
    header = next((Path(path) for path in HEADERS[here] if Path(path).exists()), None)
    if header is None:
        lacks("the kernel's headers (install linux-libc-dev)")
    listed = {name: int(n) for name, n in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())}
    ours = {name: numbers[list(MACHINES).index(here)] for name, numbers in NUMBERS.items()}
    wrong = {name: (n, listed.get(name)) for name, n in ours.items() if name in listed and n != listed[name]}
    assert wrong == {}
    # In the generic table, each machine enables clone3 and memfd_secret by a macro; the last is new in 6.6.
    missing = {name for name, n in ours.items() if n is not None and name not in listed}
    assert missing <= {"memfd_secret", "clone3", "fchmodat2"}
    assert {name for name, n in ours.items() if n is None and name in listed} == set()


@pytest.mark.parametrize("here", MACHINES)
def test_what_is_refused_is_refused_whatever_its_arguments(here: str) -> None:
    for name in seccomp.REFUSED:
        number = NUMBERS[name][list(MACHINES).index(here)]
        if number is not None:
            for arguments in ((), (OWN,), (0xFFFFFFFFFFFFFFFF,) * 6):
                assert (name, decide(here, number, *arguments)) == (name, errno.EPERM)


@pytest.mark.parametrize("here", MACHINES)
def test_what_is_ignored_changes_nothing_and_seems_done(here: str) -> None:
    numbers = {name: NUMBERS[name][list(MACHINES).index(here)] for name in seccomp.IGNORED}
    assert {name: decide(here, number) for name, number in numbers.items() if number is not None} == {
        name: 0 for name, number in numbers.items() if number is not None
    }


CASES: list[tuple[str, tuple[int, ...], str | int]] = [
    ("clone", (THREAD,), ALLOWED),
    ("clone", (0x11,), errno.EPERM),  # fork
    ("clone", (0x4111,), errno.EPERM),  # posix_spawn
    ("clone", (0x01200011,), errno.EPERM),  # fork, as glibc calls it
    *(("clone", (THREAD | flag,), errno.EPERM) for flag in (0x80, 0x20000, 0x02000000, 0x10000000, 0x20000000)),
    *(("clone", (THREAD | flag,), errno.EPERM) for flag in (0x04000000, 0x08000000, 0x40000000)),
    ("clone3", (), errno.ENOSYS),
    *(("kill", (OWN, number), ALLOWED) for number in HARMLESS),
    *(("rt_sigqueueinfo", (OWN, number), ALLOWED) for number in HARMLESS),
    *(("tgkill", (OWN, 5, number), ALLOWED) for number in HARMLESS),
    *(("rt_tgsigqueueinfo", (OWN, 5, number), ALLOWED) for number in HARMLESS),
    *((name, (OTHER, 0, 0), errno.EPERM) for name in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")),
    ("kill", (OWN, (1 << 32) | 9), errno.EPERM),  # the kernel reads only the low word
    ("kill", (0, 9), errno.EPERM),
    ("kill", (2**64 - 1, 9), errno.EPERM),
    ("prlimit64", (0, 0), ALLOWED),  # reads it
    *(("prlimit64", (0, limit, new), errno.EPERM) for limit in (0, 15) for new in (4096, 1 << 32)),
    *(("prlimit64", (0, limit, 4096), ALLOWED) for limit in (1, 7, 9)),
    *(("setrlimit", (limit, 4096), errno.EPERM) for limit in (0, 15)),
    ("setrlimit", (7, 4096), ALLOWED),
    ("prlimit64", (OWN, 7), ALLOWED),
    ("prlimit64", (OTHER, 7), errno.EPERM),
    *(("sched_setaffinity", (who,), ALLOWED) for who in (0, OWN)),
    ("sched_setaffinity", (OTHER,), errno.EPERM),
    ("setpriority", (0, 0, 5), ALLOWED),
    ("setpriority", (0, OTHER, 5), errno.EPERM),
    ("setpriority", (2, 0, 5), errno.EPERM),  # all of a user's processes
    ("socketpair", (1, 1, 0), ALLOWED),
    ("socketpair", (2, 1, 0), errno.EPERM),
    ("sendto", (3, 4096, 1, 0, 0, 0), ALLOWED),
    ("sendto", (3, 4096, 1, 0, 4096, 16), errno.EPERM),
    ("sendto", (3, 4096, 1, 0, 1 << 32, 16), errno.EPERM),
    *(("fcntl", (3, command, 0), ALLOWED) for command in (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)),
    *(("fcntl", (3, command, OTHER), errno.EPERM) for command in (8, 10, 15)),
    *(("fcntl", (3, command, 0), errno.EPERM) for command in (1024, 1025, 1026, 1031, 1032, 1035, 1036, 1037, 1038)),
    ("fcntl", (3, (1 << 32) | 8, OTHER), errno.EPERM),
    *(("ioctl", (1, request), ALLOWED) for request in (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
    *(("ioctl", (1, request), errno.EPERM) for request in (0x5412, 0x541C, 0x8901, 0x8902, 0x40086602, 0x40806685)),
    ("prctl", (15,), ALLOWED),
    *(("prctl", (option, 0), errno.EPERM) for option in (1, 4, 22, 62)),
    *(("open", (4096, flags), ALLOWED) for flags in (0, 1, 2, 3, 0o1001, 0o1002, 0o1101, 0o2002000)),
    *(("open", (4096, flags), errno.EPERM) for flags in (0o1000, 0o1003, 0o2001000, 0o1103)),
    *(("openat", (3, 4096, flags), ALLOWED) for flags in (0, 3, 0o1001, 0o1002, 0o1101)),
    *(("openat", (3, 4096, flags), errno.EPERM) for flags in (0o1000, 0o1003, 0o2001000, 0o1103)),
    ("openat2", (), errno.ENOSYS),
]


@pytest.mark.parametrize("here", MACHINES)
@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_some_uses_of_a_call_are_refused(here: str, name: str, arguments: tuple, expected: str | int) -> None:
    number = NUMBERS[name][list(MACHINES).index(here)]
    if number is None:
        assert (here, name) == ("aarch64", "open")
        return
    assert decide(here, number, *arguments) == expected


@pytest.mark.parametrize("here", MACHINES)
@pytest.mark.parametrize(("name", "at"), [("kill", 1), ("rt_sigqueueinfo", 1), ("tgkill", 2), ("rt_tgsigqueueinfo", 2)])
def test_a_process_sends_itself_no_signal_that_could_end_it(here: str, name: str, at: int) -> None:
    number = NUMBERS[name][list(MACHINES).index(here)]
    assert number is not None
    allowed = [one for one in range(70) if decide(here, number, OWN, *([0] * (at - 1)), one) == ALLOWED]
    assert allowed == list(HARMLESS)


@pytest.mark.parametrize("here", MACHINES)
def test_calls_that_nobody_knew_are_said_not_to_exist(here: str) -> None:
    assert decide(here, 462) == ALLOWED
    for number in (463, 470, 1000, 0x3FFFFFFF):
        assert decide(here, number) == errno.ENOSYS


@pytest.mark.parametrize("here", MACHINES)
def test_calls_in_the_dress_of_another_machine_end_the_process(here: str) -> None:
    assert decide(here, 1, architecture=0x40000003) == KILLED
    if here == "x86_64":
        assert decide(here, 0x40000000 | 59) == KILLED


def test_reading_writing_and_mapping_are_allowed() -> None:
    for here, numbers in (
        ("x86_64", (0, 1, 3, 9, 11, 202, 230, 257)),
        ("aarch64", (63, 64, 57, 222, 215, 98, 115, 56)),
    ):
        assert {decide(here, number) for number in numbers} == {ALLOWED}
