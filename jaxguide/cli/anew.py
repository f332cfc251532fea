"""Begin a command anew in a process that holds nothing of anybody's: JAX is imported once, for workers and for us.

Workers are forked from a process that has imported JAX and read nothing: no command line, no environment, no key. To
import JAX once more, for the command itself, costs as much as grading a submission. So the command gives way to such a
process, under its own number; that one imports, forks what workers are forked from, and only then takes back the
command line and the environment, and goes on.
"""

import io
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NoReturn

_REST = "JAXGUIDE_REST"
"""The variable that has the number of the file with the command line and the environment."""

_WITH_SCIPY = "JAXGUIDE_WITH_SCIPY"

_is_program = False


def note_program() -> None:
    """Note that this process runs one command, and nothing else is to be done in it."""
    global _is_program
    _is_program = True


def begin_anew(prog_name: str, with_scipy: bool = True) -> None:
    """Give way to a process that has imported JAX and forked the zygote, where that is possible here.

    Args:
        prog_name: what the program is called in its messages.
        with_scipy: see `forking.prepare`.
    """
    from jaxguide.grading.workers.spawning import can_fork

    is_watched = sys.gettrace() is not None or sys.getprofile() is not None  # by a debugger or a profiler
    if not _is_program or is_watched or "jax" in sys.modules or threading.active_count() > 1:
        return
    if not can_fork() or not hasattr(os, "memfd_create"):
        return
    from jaxguide.grading.workers.processes import command, environment
    from jaxguide.grading.workers.zygote import new_token

    rest: dict[str, Any] = {
        "prog_name": prog_name,
        "arguments": [os.fsencode(argument).decode("latin-1") for argument in sys.argv[1:]],
        "environment": {_plain(name): _plain(value) for name, value in os.environb.items()},
        "path": sys.path,
        "streams": [_how_written(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }
    file = os.memfd_create("jaxguide", 0)  # for this user alone, and gone with the last process that has it open
    with open(os.dup(file), "w", encoding="ascii") as written:
        json.dump(rest, written)
    variables = environment(Path(tempfile.gettempdir()), "-" * len(new_token()))
    variables |= {_REST: str(file), _WITH_SCIPY: str(int(with_scipy))}
    del variables["PYTHONDONTWRITEBYTECODE"]  # which keeps submissions alone from writing any
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execve(sys.executable, command("jaxguide.cli.anew"), variables)


def _plain(value: bytes) -> str:
    return value.decode("latin-1")


def _how_written(stream: Any) -> dict[str, Any] | None:
    return None if stream is None else {"encoding": stream.encoding, "errors": stream.errors}


def main() -> NoReturn:
    """Import, fork the zygote, take back command line and environment, and run the command."""
    from jaxguide.grading.workers import forking, spawning

    file = int(os.environ[_REST])
    forking.prepare(os.environ[_WITH_SCIPY] == "1")
    spawning.fork_zygote()
    with open(file, "rb") as written:
        written.seek(0)
        rest = json.load(written)
    os.environb.clear()
    os.environb.update({_bytes(name): _bytes(value) for name, value in rest["environment"].items()})
    tempfile.tempdir = None
    sys.path[:] = rest["path"]
    sys.argv = [rest["prog_name"], *(os.fsdecode(_bytes(argument)) for argument in rest["arguments"])]
    for stream, how in zip((sys.stdin, sys.stdout, sys.stderr), rest["streams"], strict=True):
        if how is not None and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(**how)
    from jaxguide.cli import main as run

    run(sys.argv[1:], prog_name=rest["prog_name"])
    sys.exit(0)


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")
