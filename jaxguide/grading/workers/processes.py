"""Start the processes that workers and the zygote run in: how Python is called, what it finds, and its environment."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Protocol

from jaxguide.base.catalogues import languages
from jaxguide.grading.workers.usage import TOKEN_VARIABLE

MESSAGE_BYTES = 64 * 2**10
"""The most that is sent to the zygote, or by it, at once."""

_BOOT = (
    "import json, sys; places = json.loads(sys.argv[1]);"
    "sys.path[:0] = [p for p in places[:1] if p not in sys.path];"
    "sys.path += [p for p in places if p not in sys.path];"
    "from {module} import main; main()"
)


class Process(Protocol):
    """A worker's process, or on Linux its supervisor's: as much of `subprocess.Popen` as the grader needs."""

    pid: int

    @property
    def stdin(self) -> IO[bytes] | None: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


def fresh_process(scratch: Path, token: str, output: IO[bytes]) -> Process:
    """Start a worker in a new Python, which imports all that it needs by itself.

    Args:
        scratch: the worker's folder.
        token: the mark in its environment.
        output: where what it prints goes.

    Raises:
        OSError: it does not start.
    """
    return subprocess.Popen(
        command("jaxguide.grading.workers.worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=output,
        bufsize=0,
        close_fds=True,
        cwd=scratch,
        env=environment(scratch, token),
        start_new_session=True,
    )


def command(module: str) -> list[str]:
    """Return the command line that runs the `main` of a module of this package in a new Python."""
    return [sys.executable, "-s", "-P", "-c", _BOOT.format(module=module), json.dumps(import_folders())]


def import_folders() -> list[str]:
    """Return where this process finds the packages that a worker needs; the first is this package's."""
    places = [str(Path(__file__).parents[3])]
    for name in ("jax", "jaxlib", "numpy", "scipy", "matplotlib", "ml_dtypes", "opt_einsum"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            places.append(str(Path(spec.origin).parents[1]))
    return list(dict.fromkeys(places))


def environment(scratch: Path, token: str) -> dict[str, str]:
    """Return a worker's environment, of which nothing is inherited but what the system itself needs."""
    folder = str(scratch)
    variables = {
        "PATH": os.defpath,
        "HOME": folder,
        "TMPDIR": folder,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "JAX_PLATFORMS": "cpu",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": folder,
        # With more, importing numpy starts threads, which a fork leaves behind.
        "OPENBLAS_NUM_THREADS": "1",
        # Each thread's own heap would reserve 64 MB of address space: the memory limit must not depend on their number.
        "MALLOC_ARENA_MAX": "2",
        TOKEN_VARIABLE: token,
        # What a worker says of a student's keys and programs, the student reads.
        "JAXGUIDE_LANG": ":".join(languages()) or "en",
    }
    for name in ("JAXGUIDE_CATALOGUES", "SYSTEMROOT", "SYSTEMDRIVE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        if name in os.environ:
            variables[name] = os.environ[name]
    return variables
