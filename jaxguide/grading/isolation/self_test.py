"""Test isolation on this machine: enter it in a process, and attempt there the worst that a submission could do.

`find_isolation` starts this module as a program. The project's own tests make more attempts.
"""

import contextlib
import dataclasses
import functools
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.grading.isolation import privileges, rlimits, syscalls
from jaxguide.grading.isolation.stack import Isolation, PartMissing, enter

FILE_BYTES, MEMORY_BYTES = 2**16, 2**28
_LIMIT_S, _ALL_LIMIT_S = 20, 120.0
_ATTACH, _NO_PROCESS = 16, -1
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from jaxguide.grading.isolation.self_test import main; main()"
)


@functools.cache
def find_isolation() -> Isolation:
    """Return how this machine isolates submissions, as attempts in a process of its own find.

    What the system refuses to enter is left out, and said. The result is kept as long as this process runs.
    """
    if not sys.platform.startswith("linux"):
        return Isolation((), ("only Linux has Landlock and seccomp",))
    top = str(Path(__file__).parents[3])
    places = [top, *(entry for entry in sys.path if entry and entry != top)]
    kept = ("TMPDIR", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-s", "-P", "-c", _BOOT, json.dumps(places)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tempfile.gettempdir(),
            timeout=_ALL_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    else:
        with contextlib.suppress(json.JSONDecodeError):
            plain = json.loads(done.stdout)
            return Isolation(tuple(plain["parts"]), tuple(plain["missing"]), plain["reads_as_root"])
        said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it printed nothing"
    return Isolation((), (f"the self-test did not run: {said}",))


def main() -> None:
    """Print what `find_isolation` returns."""
    with new_targets() as targets:
        print(json.dumps(dataclasses.asdict(_tried(targets))))


def _tried(targets: "Targets") -> Isolation:
    isolation = Isolation()
    while True:
        reply = attempts_in(isolation, FORBIDDEN, HONEST, targets)
        if reply["missing"]:
            part, why = reply["missing"]
            parts = tuple(one for one in isolation.parts if one != part)
            isolation = dataclasses.replace(isolation, parts=parts, missing=(*isolation.missing, f"{part}: {why}"))
            continue
        hindered = [f"honest code cannot {name} ({how})" for name, how in reply["works"].items() if how]
        if hindered and privileges.is_root() and not isolation.reads_as_root:
            isolation = dataclasses.replace(isolation, reads_as_root=True)
            continue
        said = [reply["error"]] if reply["error"] else hindered
        if not isolation.missing:
            said += [f"a submission can {name}" for name, how in reply["fails"].items() if not how]
        return dataclasses.replace(isolation, missing=(*isolation.missing, *said))


@dataclasses.dataclass(frozen=True)
class Targets:
    """What the attempts aim at; the permissions alone let every user reach all of it.

    Args:
        key: a hidden file.
        outside: a folder that every user may write to.
        scratch: the folder that remains writable.
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


def read_python(_targets: Targets) -> None:
    import importlib.util

    for name in ("jax", "jaxlib", "numpy"):
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            raise FileNotFoundError(f"{name} is not visible")
        Path(found.origin).read_bytes()
    Path(os.__file__).read_bytes()
    Path(rlimits.__file__).read_bytes()


def write_a_small_file(targets: Targets) -> None:
    Path(targets.scratch, "small").write_text("x")


FORBIDDEN: tuple[Attempt, ...] = (
    *(read_the_key, write_outside, connect_on_the_machine, fork, trace_a_process, signal_another, change_a_mode),
    *(write_a_large_file, be_root),
)
HONEST: tuple[Attempt, ...] = (read_python, write_a_small_file)
"""What isolation must prevent, and what it must allow."""


def attempts_in(
    isolation: Isolation, forbidden: Sequence[Attempt], honest: Sequence[Attempt], targets: Targets, **config: Any
) -> dict[str, Any]:
    """Enter isolation in a child process, and make attempts there.

    Args:
        isolation: the parts, which the system may refuse.
        forbidden, honest: the attempts.
        targets: what they aim at, but for the scratch, which is a new one.
        config: more for `enter`.

    Returns:
        'missing', the arguments of `PartMissing`, or 'error', what else went wrong, or None; 'fails' and 'works', for
        each forbidden and each honest attempt how it was prevented, '' if it succeeded.
    """
    targets = dataclasses.replace(
        targets, scratch=tempfile.mkdtemp(prefix="scratch-", dir=Path(targets.outside).parent)
    )
    config |= {"hidden": [os.path.dirname(targets.key)], "scratch": targets.scratch, "cpu_s": _LIMIT_S}
    reply: dict[str, Any] = {"missing": None, "error": "the process that entered it ended", "works": {}, "fails": {}}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            signal.alarm(_LIMIT_S)
            enter(isolation, config)
            rlimits.limit(MEMORY_BYTES, FILE_BYTES)
            # Try first what must work, because the other attempts may leave things behind.
            reply["works"], reply["fails"] = _outcomes(honest, targets), _outcomes(forbidden, targets)
            reply["error"] = None
        except PartMissing as error:
            reply |= {"missing": error.args, "error": None}
        except BaseException as error:
            reply["error"] = f"{type(error).__name__}: {error}"
        finally:
            os.write(writing, json.dumps(reply).encode())
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else reply


def _outcomes(attempts: Sequence[Attempt], targets: Targets) -> dict[str, str]:
    found: dict[str, str] = {}
    for attempt in attempts:
        name = attempt.__name__.replace("_", " ")
        try:
            attempt(targets)
            found[name] = ""
        except OSError as error:
            found[name] = error.strerror or str(error) or type(error).__name__
        except (ImportError, LookupError) as error:  # a hidden module or codec
            found[name] = f"{type(error).__name__}: {error}"
    return found


@contextlib.contextmanager
def new_targets() -> Iterator[Targets]:
    """Set up what the attempts aim at."""
    probe = tempfile.TemporaryDirectory(prefix="jaxguide-probe-", ignore_cleanup_errors=True)
    with probe as made, socket.create_server(("127.0.0.1", 0)) as listener:
        folder = Path(made)
        for name, mode in (("hidden", 0o755), ("outside", 0o777), (".", 0o755)):
            (folder / name).mkdir(exist_ok=True)
            (folder / name).chmod(mode)
        (folder / "hidden" / "key").write_text("a key")
        key, outside = str(folder / "hidden" / "key"), str(folder / "outside")
        yield Targets(key, outside, "", listener.getsockname(), os.getpid())
