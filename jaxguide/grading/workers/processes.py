"""Start worker and zygote processes: the Python command line, the import folders and the environment."""

import importlib.util
import json
import os
import struct
import sys
from pathlib import Path

MESSAGE_BYTES = 64 * 2**10
"""The size limit of one message to or from the zygote."""

FIT = b"fit"
"""What the zygote says if it can be forked; otherwise it says why not."""

NUMBER = struct.Struct("<i")
"""How the zygote sends numbers."""

_BOOT = (
    "import json, sys; places = json.loads(sys.argv[1]);"
    "sys.path[:0] = [p for p in places[:1] if p not in sys.path];"
    "sys.path += [p for p in places if p not in sys.path];"
    "from {module} import main; main()"
)


def command(module: str) -> list[str]:
    """Return the command line that runs a module's `main` function in a new Python."""
    return [sys.executable, "-s", "-P", "-c", _BOOT.format(module=module), json.dumps(import_folders())]


def import_folders() -> list[str]:
    """Return the folders from which this process imports a worker's packages; the first contains jaxguide."""
    places = [str(Path(__file__).parents[3])]
    for name in ("jax", "jaxlib", "numpy", "scipy", "matplotlib", "ml_dtypes", "opt_einsum"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            places.append(str(Path(spec.origin).parents[1]))
    return list(dict.fromkeys(places))


def environment(scratch: Path) -> dict[str, str]:
    """Return a worker's environment.

    It inherits only the variables that the system needs, the catalogue folders, and how JAX compiles: a worker finds
    the grader's programs only if it would compile them alike.
    """
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
        # With more threads, importing numpy starts some, and they do not survive a fork.
        "OPENBLAS_NUM_THREADS": "1",
        # Each thread would reserve 64 MB of address space for its heap, and the memory limit must not depend on that.
        "MALLOC_ARENA_MAX": "2",
    }
    system = ("SYSTEMROOT", "SYSTEMDRIVE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    for name in (*system, "JAX_DISABLE_MOST_OPTIMIZATIONS"):
        if name in os.environ:
            variables[name] = os.environ[name]
    return variables
