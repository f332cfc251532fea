"""Cache the programs that JAX compiles in tests, across processes and runs."""

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxguide.course.judging.compilation_cache import KeptPrograms, compiled_once
from jaxguide.grading.workers.shared_programs import folder_of

# Above this size, the oldest programs are deleted. One run needs about a third of it.
MOST_BYTES = 600_000_000
# Graders' caches are kept for this many versions of the package's source, the most recently used ones.
KEPT_CACHES = 3


def kept_folder(config: pytest.Config) -> Path | None:
    """Return the folder for compiled programs in pytest's cache, or None if it is not writable."""
    import jax

    cache = getattr(config, "cache", None)
    if cache is None:
        return None
    # Programs are specific to a JAX release and a kind of processor, and not all Pythons compress them alike.
    name = folder_of(f"tests {platform.python_version()} {jax.__version__}").name
    with contextlib.suppress(OSError):
        folder: Path = cache.mkdir("programs")
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
    """Redirect what the tests would write into the home folder, which may not be writable.

    All processes and runs share the graders' caches until a module of the package changes. This is safe, because a
    grader moves a cache entry into place only when it is complete.
    """
    if hasattr(config, "workerinput"):
        return  # it inherits the environment of the process that started it
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
    """Return the folder in which this process caches compiled programs."""
    with contextlib.ExitStack() as stack:
        kept = kept_folder(pytestconfig)
        folder = stack.enter_context(KeptPrograms(kept, MOST_BYTES).lent()) if kept else None
        yield stack.enter_context(compiled_once(folder))
