"""Keep what JAX compiles in the tests from one process to the next, and from one run to the next.

JAX writes programs in place, and warns in every process that reads one which is not whole. So each process has a folder
of its own, which begins with links to what is kept; what is new there is checked, and linked back at the end.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest

from jaxguide.course.compiled import compiled_once
from jaxguide.grading.compile_cache import folder_of

# Of what is kept the oldest goes. One run needs about a third of this.
MOST_BYTES = 600_000_000
# Of how many states of the package what graders keep stays.
KEPT_CACHES = 3
_SUFFIX = "-cache"


class KeptPrograms:
    """Programs of whole files only, each under a name that says what its content must be.

    Args:
        folder: for the programs of one kind of machine, one Python and one JAX.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    @contextlib.contextmanager
    def lent(self) -> Iterator[Path]:
        """Give one process a folder to compile into, and keep what it adds."""
        at_work = self.folder.with_name(f"{self.folder.name}-at-work")
        at_work.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(at_work / "begin"):
            _remove_abandoned(at_work)
            own = Path(tempfile.mkdtemp(dir=at_work))
            lock = filelock.FileLock(own.with_suffix(".lock"))
            lock.acquire()
        try:
            self._lend(own)
            yield own
            self._keep(own)
        finally:
            shutil.rmtree(own, ignore_errors=True)
            own.with_suffix(".lock").unlink(missing_ok=True)
            lock.release()

    def _lend(self, own: Path) -> None:
        self.folder.mkdir(exist_ok=True)
        for kept in self.folder.iterdir():
            name, _dot, checksum = kept.name.rpartition(".")
            with contextlib.suppress(OSError):
                if name and checksum == _checksum(kept.read_bytes()):
                    os.link(kept, own / name)
                else:
                    kept.unlink()

    def _keep(self, own: Path) -> None:
        for path in own.glob(f"*{_SUFFIX}"):
            if path.stat().st_nlink == 1 and _is_whole(content := path.read_bytes()):
                with contextlib.suppress(FileExistsError):
                    os.link(path, self.folder / f"{path.name}.{_checksum(content)}")
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        found = []
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process forgets too
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        excess = sum(size for _time, size, _path in found) - MOST_BYTES
        for _time, size, path in sorted(found):
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size


def _remove_abandoned(at_work: Path) -> None:
    """Remove the folders of processes that were killed: nobody holds their locks."""
    for lock in at_work.glob("*.lock"):
        with contextlib.suppress(filelock.Timeout, OSError), filelock.FileLock(lock, timeout=0):
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)


def _checksum(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"


def _is_whole(content: bytes) -> bool:
    """Return whether a program was written to its end: a process that another one started may have been killed."""
    if not content.startswith(b"\x78"):  # JAX compresses with zstd where that is installed
        return bool(content)
    try:
        zlib.decompress(content)
    except zlib.error:
        return False
    return True


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
        folder = stack.enter_context(KeptPrograms(kept).lent()) if kept else None
        yield stack.enter_context(compiled_once(folder))
