"""Try layers: for each request, a child process enters them and attempts what they must prevent.

`find_tier` starts this module as a process and never imports it.
"""

import contextlib
import ctypes
import dataclasses
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from jaxguide.base.held_folders import PROBE, new_held_folder
from jaxguide.grading.isolation import attempts, rlimits, syscalls
from jaxguide.grading.isolation.attempts import MUST_FAIL, MUST_WORK, Bait
from jaxguide.grading.isolation.enter import enter_inner, enter_outer
from jaxguide.grading.isolation.tier import RLIMITS, Tier

_CREATE, _REMOVE = 0o1000, 0
_CHILD_LIMIT_S = 20


def main() -> None:
    """Read tiers and the layers whose attempts to make from standard input, and print the outcomes."""
    requests = json.load(sys.stdin)
    with _bait() as bait:
        replies = [_try(Tier.from_plain(r["tier"]), r["attempts"], bait, r["landlock_version"]) for r in requests]
    print(json.dumps(replies))


def _try(tier: Tier, layers: list[str], bait: Bait, landlock_version: int | None) -> dict[str, Any]:
    """Enter the tier in a child process, and return the outcome of each attempt, or the error if it could not enter."""
    scratch = tempfile.mkdtemp(prefix="scratch-", dir=os.path.dirname(bait.outside))
    reading, writing = os.pipe()
    outer = os.fork()
    if outer == 0:
        try:
            os.close(reading)
            _supervise(tier, layers, dataclasses.replace(bait, scratch=scratch), landlock_version, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(outer, 0)
    shutil.rmtree(scratch, ignore_errors=True)
    reply: dict[str, Any] = json.loads(said) if said else _not_entered("the process that entered it ended", True)
    return reply


def _supervise(tier: Tier, layers: list[str], bait: Bait, landlock_version: int | None, writing: int) -> None:
    _end_with_parent()
    signal.alarm(_CHILD_LIMIT_S)
    config: dict[str, Any] = {
        "hidden": [os.path.dirname(bait.secret)],
        "scratch": bait.scratch,
        "scratch_bytes": attempts.PROBE_SCRATCH_BYTES,
        "cpu_s": _CHILD_LIMIT_S,
        "landlock_version": landlock_version,
    }
    with _told(writing):
        enter_outer(tier, config)
        worker = os.fork()
        if worker == 0:
            _end_with_parent()
            enter_inner(tier, config)
            if tier.uses(RLIMITS):
                rlimits.limit(attempts.MEMORY_BYTES, attempts.FILE_BYTES)
            wanted = tuple(dict.fromkeys(attempt for layer in layers for attempt in MUST_FAIL[layer]))
            # Try first what must work, because the other attempts may leave things behind.
            works, fails = attempts.outcomes(MUST_WORK, bait), attempts.outcomes(wanted, bait)
            doubts = [name for name, error in (works | fails).items() if attempts.may_pass(error, name)]
            reply: dict[str, Any] = {"error": None, "doubts": doubts}
            for key, found in (("works", works), ("fails", fails)):
                reply[key] = {name: attempts.how_prevented(error) for name, error in found.items()}
            _tell(writing, reply)
            os._exit(0)
        os.waitpid(worker, 0)
        os._exit(0)


@contextlib.contextmanager
def _told(writing: int) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        _tell(writing, _not_entered(f"{type(error).__name__}: {error}", attempts.may_pass(error)))
        os._exit(1)


def _not_entered(why: str, may_pass: bool) -> dict[str, Any]:
    return {"error": why, "doubts": [why] if may_pass else []}


def _tell(writing: int, reply: dict[str, Any]) -> None:
    os.write(writing, json.dumps(reply).encode())


def _end_with_parent() -> None:
    if sys.platform.startswith("linux"):
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def _bait() -> Iterator[Bait]:
    """Set up the targets of the attempts, with permissions that let every user reach them."""
    folder, _held = new_held_folder(PROBE)
    (folder / "hidden").mkdir()
    (folder / "hidden" / "secret").write_text("a secret")
    (folder / "outside").mkdir()
    for path, mode in ((folder, 0o755), (folder / "hidden", 0o755), (folder / "outside", 0o777)):
        path.chmod(mode)
    libc = ctypes.CDLL(None, use_errno=True)
    key = int.from_bytes(os.urandom(3), "big") + 1
    memory = libc.shmget(key, 4096, _CREATE | 0o666)
    try:
        with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
            yield Bait(
                secret=str(folder / "hidden" / "secret"),
                outside=str(folder / "outside"),
                scratch="",
                address=listener.getsockname(),
                message_key=key,
                prober=os.getpid(),
                user_namespace=os.readlink("/proc/self/ns/user"),
                root=attempts.root(),
            )
    finally:
        if memory >= 0:
            libc.shmctl(memory, _REMOVE, None)
        shutil.rmtree(folder, ignore_errors=True)
