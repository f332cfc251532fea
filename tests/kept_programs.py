"""Keep what JAX compiles in the tests from one process to the next, and from one run to the next."""

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxguide.course.judging.compiled import KeptPrograms, compiled_once
from jaxguide.grading.workers.compile_cache import folder_of

# Of what is kept the oldest goes. One run needs about a third of this.
MOST_BYTES = 600_000_000
# Of how many states of the package what graders keep stays.
KEPT_CACHES = 3


def kept_folder(config: pytest.Config) -> Path | None:
    """Return where programs are kept, below pytest's cache; None where that cannot be written."""
    import jax

    cache = getattr(config, "cache", None)
    if cache is None:
        return None
    # What one JAX compiled on one kind of processor is of no use to others; nor are all Pythons' compressions alike.
    name = folder_of(f"tests {platform.python_version()} {jax.__version__}").name
    with contextlib.suppress(OSError):
        folder = cache.mkdir("programs")
        if os.access(folder, os.W_OK):
            return folder / name
    return None


def _package_digest() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).parents[1] / "jaxguide"
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def pytest_configure(config: pytest.Config) -> None:
    """Keep what programs write below the home folder apart from the tester's, which may not even be writable.

    What graders keep is one folder for all processes and runs, until a module of the package changes: a grader puts
    what it has made in its place when all of it is there.
    """
    if hasattr(config, "workerinput"):
        return  # it has the environment of the process that started it
    kept = kept_folder(config)
    folder = kept.with_name(f"{kept.name}-home") if kept else Path(tempfile.mkdtemp(prefix="jaxguide-tests-"))
    caches = folder / "caches" / _package_digest()
    caches.mkdir(parents=True, exist_ok=True)
    os.utime(caches)
    for old in sorted(caches.parent.iterdir(), key=os.path.getmtime)[:-KEPT_CACHES]:
        shutil.rmtree(old, ignore_errors=True)
    os.environ["XDG_CACHE_HOME"] = str(caches)
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        os.environ[name] = str(folder / name.lower())
    (folder / "mplconfigdir").mkdir(exist_ok=True)
    if kept is None:
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture(scope="session", autouse=True)
def compiled(pytestconfig: pytest.Config) -> Iterator[Path]:
    """Return the folder where this process keeps what it compiles."""
    with contextlib.ExitStack() as stack:
        kept = kept_folder(pytestconfig)
        folder = stack.enter_context(KeptPrograms(kept, MOST_BYTES).lent()) if kept else None
        yield stack.enter_context(compiled_once(folder))
