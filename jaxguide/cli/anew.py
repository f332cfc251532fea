"""Restart a command in a clean process, so that one import of JAX serves both the workers and the command.

Workers are forked from a process that has imported JAX but has not seen the command line, the environment or the key.
Importing JAX again for the command itself would take as long as grading a submission. So the command replaces itself
(`exec`, same process ID) with a clean process, which imports JAX and forks the zygote, from which workers are forked.
Only then does it restore the command line and the environment and run the command.
"""

import contextlib
import io
import os
import pickle
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NoReturn

_REST = "JAXGUIDE_REST"
"""The variable with the descriptor of the file that holds the command line and the environment."""

_WITH_SCIPY = "JAXGUIDE_WITH_SCIPY"


def begin_anew(prog_name: str, with_scipy: bool = True) -> None:
    """Replace this process with one that has imported JAX and forked the zygote, if possible.

    Args:
        prog_name: the program's name in messages.
        with_scipy: see `forking.prepare`.
    """
    from jaxguide.grading.workers.processes import command, environment
    from jaxguide.grading.workers.zygote import can_fork

    is_watched = sys.gettrace() is not None or sys.getprofile() is not None  # by a debugger or a profiler
    if is_watched or "jax" in sys.modules or threading.active_count() > 1:
        return
    if not can_fork() or not hasattr(os, "memfd_create"):
        return

    rest: dict[str, Any] = {
        "prog_name": prog_name,
        "arguments": [os.fsencode(argument) for argument in sys.argv[1:]],
        "environment": dict(os.environb),
        "path": sys.path,
        "streams": [_how_written(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }
    file = os.memfd_create("jaxguide", 0)  # private to this user, and deleted once no process has it open
    with open(os.dup(file), "wb") as written:
        pickle.dump(rest, written)
    variables = environment(Path(tempfile.gettempdir()))
    variables |= {_REST: str(file), _WITH_SCIPY: str(int(with_scipy))}
    del variables["PYTHONDONTWRITEBYTECODE"]  # meant for submissions only
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execve(sys.executable, command("jaxguide.cli.anew"), variables)


def _how_written(stream: Any) -> dict[str, Any] | None:
    return None if stream is None else {"encoding": stream.encoding, "errors": stream.errors}


def main() -> NoReturn:
    """Import JAX, fork the zygote, restore the command line and the environment, and run the command."""
    from jaxguide.grading.workers import forking
    from jaxguide.grading.workers.zygote import the_zygote

    file = int(os.environ[_REST])
    forking.prepare(os.environ[_WITH_SCIPY] == "1")
    with contextlib.suppress(OSError):  # then the zygote starts later
        the_zygote(is_fork=True)  # which must not contain the secrets that are restored below
    with open(file, "rb") as written:
        written.seek(0)
        rest = pickle.load(written)
    os.environb.clear()
    os.environb.update(rest["environment"])
    forget_variables_of_jax()
    tempfile.tempdir = None
    sys.path[:] = rest["path"]
    sys.argv = [rest["prog_name"], *map(os.fsdecode, rest["arguments"])]
    for stream, how in zip((sys.stdin, sys.stdout, sys.stderr), rest["streams"], strict=True):
        if how is not None and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(**how)
    from jaxguide.cli import main as run

    run(sys.argv[1:], prog_name=rest["prog_name"])
    sys.exit(0)


def forget_variables_of_jax() -> None:
    """Let this process compute as workers do: on the CPU, whatever the user's variables for JAX say."""
    for name in [name for name in os.environ if name.startswith("JAX_") or name == "XLA_FLAGS"]:
        if name != "JAX_DISABLE_MOST_OPTIMIZATIONS":  # which workers get, too
            del os.environ[name]
    os.environ["JAX_PLATFORMS"] = "cpu"
