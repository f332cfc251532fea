"""Test isolation on this machine: enter layers in a process, and attempt there the worst that a submission could do.

`find_tier` starts this module as a program. The project's own tests make many more attempts.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.held_folders import PROBE, new_held_folder
from jaxguide.grading.isolation import rlimits, syscalls
from jaxguide.grading.isolation.enter import enter_inner, enter_outer
from jaxguide.grading.isolation.tier import (
    AUDIT_HOOK,
    LANDLOCK,
    MOUNT_NAMESPACE,
    NET_NAMESPACE,
    ORDINARY_USER,
    PID_NAMESPACE,
    RLIMITS,
    SECCOMP,
    Tier,
)

FILE_BYTES, MEMORY_BYTES = 2**16, 2**28
_LIMIT_S = 20
_ATTACH, _NO_PROCESS = 16, -1


@dataclasses.dataclass(frozen=True)
class Targets:
    """What the attempts aim at; the permissions alone let every user reach all of it.

    Args:
        key: a hidden file.
        outside: a folder that every user may write to.
        scratch: the folder that a tier leaves writable.
        address: an address on this machine at which a process listens.
        process: the ID of a process outside.
    """

    key: str
    outside: str
    scratch: str
    address: tuple[str, int]
    process: int


Attempt = Callable[[Any], None]
"""Attempt something with the targets; raise `OSError` if it was prevented."""


def read_the_key(targets: Targets) -> None:
    Path(targets.key).read_bytes()


def write_outside(targets: Targets) -> None:
    Path(targets.outside, f"stray-{os.urandom(4).hex()}").write_text("x")


def connect_on_the_machine(targets: Targets) -> None:
    host, port = targets.address
    with socket.socket() as client:
        client.settimeout(5)
        client.connect((host.encode(), port))  # a str would need a codec that may be hidden


def fork(_targets: Targets) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def trace_a_process(_targets: Targets) -> None:
    with contextlib.suppress(ProcessLookupError):  # allowed, though there is no such process
        syscalls.call("ptrace", _ATTACH, _NO_PROCESS, 0, 0)


def signal_another(targets: Targets) -> None:
    os.kill(targets.process, 0)


def change_a_mode(targets: Targets) -> None:
    before = os.stat(targets.key).st_mode
    os.chmod(targets.key, stat.S_IMODE(before) ^ 1)
    if os.stat(targets.key).st_mode == before:
        raise PermissionError("the mode did not change")


def write_a_large_file(targets: Targets) -> None:
    # Python ignores the signal SIGXFSZ and gets an error instead.
    with open(Path(targets.scratch, "large"), "wb") as file:
        file.truncate(FILE_BYTES + 1)


def be_root(_targets: Targets) -> None:
    os.setresuid(0, 0, 0)


# For each layer, the attempts that it must prevent by itself. Others hold if the system lets a process enter them.
PREVENTED: dict[str, tuple[Attempt, ...]] = {
    PID_NAMESPACE: (signal_another,),
    NET_NAMESPACE: (connect_on_the_machine,),
    MOUNT_NAMESPACE: (read_the_key, write_outside),
    ORDINARY_USER: (be_root,),
    RLIMITS: (write_a_large_file,),
    LANDLOCK: (read_the_key, write_outside),
    AUDIT_HOOK: (read_the_key,),
    SECCOMP: (fork, connect_on_the_machine, trace_a_process, signal_another, change_a_mode),
}


def read_python(_targets: Targets) -> None:
    import importlib.util

    for name in ("jax", "jaxlib", "numpy"):
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            raise FileNotFoundError(f"{name} is not visible")
        Path(found.origin).read_bytes()
    Path(os.__file__).read_bytes()
    Path(rlimits.__file__).read_bytes()


HONEST: tuple[Attempt, ...] = (read_python,)
"""What every tier must allow."""


def main() -> None:
    """Read tiers and the layers whose attempts to make from standard input, and print how each attempt ended."""
    requests = json.load(sys.stdin)
    with new_targets() as targets:
        replies = [
            attempts_in(Tier.from_plain(tier), [a for name in layers for a in PREVENTED.get(name, ())], HONEST, targets)
            for tier, layers in requests
        ]
    print(json.dumps(replies))


def attempts_in(
    tier: Tier, forbidden: Sequence[Attempt], honest: Sequence[Attempt], targets: Targets, **config: Any
) -> dict[str, Any]:
    """Enter a tier in a child process, and make attempts there.

    Args:
        tier: the tier, with layers that may not hold.
        forbidden, honest: the attempts.
        targets: what they aim at, but for the scratch, which is a new one.
        config: more for `enter_inner`.

    Returns:
        'error', why the tier could not be entered, or None; 'fails' and 'works', for each forbidden and each honest
        attempt how it was prevented, '' if it succeeded.
    """
    targets = dataclasses.replace(
        targets, scratch=tempfile.mkdtemp(prefix="scratch-", dir=Path(targets.outside).parent)
    )
    config |= {"hidden": [os.path.dirname(targets.key)], "scratch": targets.scratch, "cpu_s": _LIMIT_S}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            signal.alarm(_LIMIT_S)
            _end_with_parent()
            enter_outer(tier, config)
            worker = os.fork()
            if worker:
                os.waitpid(worker, 0)
            else:
                _end_with_parent()
                enter_inner(tier, config)
                if tier.uses(RLIMITS):
                    rlimits.limit(MEMORY_BYTES, FILE_BYTES)
                # Try first what must work, because the other attempts may leave things behind.
                reply = {"error": None, "works": _outcomes(honest, targets), "fails": _outcomes(forbidden, targets)}
                os.write(writing, json.dumps(reply).encode())
        except BaseException as error:
            os.write(writing, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    shutil.rmtree(targets.scratch, ignore_errors=True)
    found: dict[str, Any] = json.loads(said or '{"error": "the process that entered it ended"}')
    return found


def _outcomes(attempts: Sequence[Attempt], targets: Targets) -> dict[str, str]:
    found: dict[str, str] = {}
    for attempt in attempts:
        try:
            attempt(targets)
            found[attempt.__name__] = ""
        except OSError as error:
            found[attempt.__name__] = error.strerror or str(error) or type(error).__name__
        except (ImportError, LookupError) as error:  # a hidden module or codec
            found[attempt.__name__] = f"{type(error).__name__}: {error}"
    return found


def _end_with_parent() -> None:
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def new_targets() -> Iterator[Targets]:
    """Set up what the attempts aim at."""
    folder, _held = new_held_folder(PROBE)
    try:
        (folder / "hidden").mkdir()
        (folder / "hidden" / "key").write_text("a key")
        (folder / "outside").mkdir()
        for path, mode in ((folder, 0o755), (folder / "hidden", 0o755), (folder / "outside", 0o777)):
            path.chmod(mode)
        with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
            place, address = str(folder / "outside"), listener.getsockname()
            yield Targets(str(folder / "hidden" / "key"), place, "", address, os.getpid())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
