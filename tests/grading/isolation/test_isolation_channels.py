"""Test that a submission that sees a hidden input cannot pass it to another one, whose feedback its student reads."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import lacks

from jaxguide.course.judging.evaluate import Request
from jaxguide.grading.isolation import MEDIUM, STRONG, IsolationError, find_tier
from jaxguide.grading.workers.program_folder import ProgramFolder
from jaxguide.grading.workers.worker_process import WorkerProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the tiers need Linux")

SECRET = 73_915
DIGITS, STEP = 5, 64 * 4096

# One file with two answers: `send` sees a hidden input, `receive` has only visible checks. Two students may hand in the
# same file, or one student one file for two lessons; each time, both answers run in separate workers.
FILE = """
import builtins, fcntl, mmap, os, struct

FOLDER = {folder!r}
BIG, kept = FOLDER + "/big", builtins.__dict__.setdefault("kept", [])
LOCK = "<hhxxxxqqixxxx"

def opened(path=BIG):
    kept.append(os.open(path, os.O_RDONLY))
    return kept[-1]

def places(number):
    return [{step} * (10 * place + int(digit)) for place, digit in enumerate(str(number))]

def number(is_marked):
    digits = [[d for d in range(10) if is_marked({step} * (10 * place + d))] for place in range({digits})]
    return int("".join(str(found[0]) for found in digits)) if all(map(len, digits)) else -1

def attempt(x):
    opened()  # must work
    try:
        return {name}(int(x[0]))
    except OSError:
        return -1
"""

CHANNELS = {
    "locks of parts": """
def send(x):
    for place in places(x): fcntl.fcntl(opened(), 37, struct.pack(LOCK, fcntl.F_RDLCK, 0, place, 1, 0))
def is_locked(place):
    asked = struct.pack(LOCK, fcntl.F_WRLCK, 0, place, 1, 0)
    return struct.unpack(LOCK, fcntl.fcntl(opened(), 36, asked))[0] != fcntl.F_UNLCK
def receive(x): return number(is_locked)
""",
    "locks of processes": """
def send(x):
    for place in places(x): fcntl.lockf(opened(), fcntl.LOCK_SH, 1, place)
def is_locked(place):
    asked = struct.pack(LOCK, fcntl.F_WRLCK, 0, place, 1, 0)
    return struct.unpack(LOCK, fcntl.fcntl(opened(), fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK
def receive(x): return number(is_locked)
""",
    "locks of files": """
def name(place): return f"{FOLDER}/{place // STEP}"
def send(x):
    for place in places(x): fcntl.flock(opened(name(place)), fcntl.LOCK_EX)
def is_locked(place):
    try: fcntl.flock(opened(name(place)), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError: return True
def receive(x): return number(is_locked)
""".replace("STEP", str(STEP)),
    "the page cache": """
def send(x):
    file = mmap.mmap(opened(), 0, prot=mmap.PROT_READ)
    file.madvise(mmap.MADV_RANDOM)
    for place in places(x): file[place]
def is_there(place):
    try: return os.preadv(opened(), [bytearray(1)], place, os.RWF_NOWAIT)
    except BlockingIOError: return False
def receive(x): return number(is_there)
""",
}


@pytest.fixture(params=[STRONG, pytest.param(MEDIUM, marks=pytest.mark.long)])
def tier(request: pytest.FixtureRequest) -> str:
    try:
        return find_tier(request.param).name
    except IsolationError as error:
        lacks(str(error))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that all workers may read, with small files and a large one that is not in memory."""
    with tempfile.TemporaryDirectory() as made:  # other users may not enter pytest's folders
        place = Path(made)
        place.chmod(0o755)
        for number in range(10 * DIGITS):
            (place / str(number)).touch()
        with open(place / "big", "wb") as file:
            file.write(bytes(10 * DIGITS * STEP))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for path in place.iterdir():
            path.chmod(0o644)
        yield place


def ask(worker: WorkerProcess, source: str, value: int, size: int) -> dict:
    worker.request("define", cell=1, source=source, exercises=["attempt"], starters=[])
    return worker.request("ask", name="attempt", request=Request((), "value", ((([value] * size,), {}),)))


@pytest.mark.parametrize("channel", CHANNELS)
def test_two_accomplices_cannot_pass_on_a_hidden_input(folder: Path, tier: str, channel: str) -> None:
    sending, receiving = (
        FILE.format(folder=str(folder), step=STEP, digits=DIGITS, name=name) + CHANNELS[channel]
        for name in ("send", "receive")
    )
    first, second = (WorkerProcess(tier=find_tier(tier), programs=ProgramFolder(folder)) for _worker in range(2))
    try:
        assert "value" in ask(first, sending, SECRET, 5)
        reply = ask(second, receiving, 1, 3)
    finally:
        first.kill()
        second.kill()
    assert reply["value"] == -1
