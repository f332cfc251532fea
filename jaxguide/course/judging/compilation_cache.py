"""Compile each program once: in one process, though many functions ask for it, and in processes that follow."""

import contextlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import filelock

_SUFFIX = "-cache"


@contextlib.contextmanager
def compiled_once(folder: Path | None = None) -> Iterator[Path]:
    """Let JAX keep in a folder what this process compiles, until the end of the block.

    Judging jits each answer anew, so that traces can be counted; JAX then compiles the same program for each of them.
    A folder is for one process: JAX (0.12.0) writes its files in place, and warns in every process that reads
    one which a killed process has left half-written.

    Args:
        folder: by default one that is removed in the end.

    Yields:
        The folder.
    """
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-programs-")))
        settings = {
            "jax_compilation_cache_dir": str(folder),
            "jax_persistent_cache_min_compile_time_secs": 0.0,
            "jax_persistent_cache_min_entry_size_bytes": -1,
            # A program would name the functions, files and lines that asked for it, which may be a key's.
            "jax_traceback_in_locations_limit": 0,
        }
        before = {name: getattr(jax.config, name) for name in settings}
        try:
            for name, value in settings.items():
                jax.config.update(name, value)
            reset_cache()  # JAX goes on with the folder that it began with
            yield folder
        finally:
            for name, value in before.items():
                jax.config.update(name, value)
            reset_cache()


class KeptPrograms:
    """Programs for processes that follow each other: whole files only, each under a name that tells its content.

    Each process has a folder of its own, which begins with links to what is kept; what is new there is checked, and
    linked back at the end.

    Args:
        folder: for the programs of one kind of machine, one Python and one JAX; this user's alone.
        limit_bytes: how much is kept; the oldest goes.
    """

    def __init__(self, folder: Path, limit_bytes: int = 256 * 2**20):
        self.folder, self.limit_bytes = folder, limit_bytes

    @contextlib.contextmanager
    def lent(self) -> Iterator[Path]:
        """Give one process a folder to compile into, and keep what it adds; where nothing can be kept, give it one.

        Yields:
            The folder, for `compiled_once`.
        """
        at_work = self.folder.with_name(f"{self.folder.name}-at-work")
        with contextlib.ExitStack() as stack:
            try:
                at_work.mkdir(parents=True, exist_ok=True, mode=0o700)
                self.folder.mkdir(exist_ok=True, mode=0o700)
                with filelock.FileLock(at_work / "begin"):
                    _remove_abandoned(at_work)
                    own = Path(tempfile.mkdtemp(dir=at_work))
                    lock = filelock.FileLock(own.with_suffix(".lock"))
                    lock.acquire()
            except OSError:
                yield Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-programs-")))
                return
            try:
                self._lend(own)
                yield own
                self._keep(own)
            finally:
                shutil.rmtree(own, ignore_errors=True)
                own.with_suffix(".lock").unlink(missing_ok=True)
                lock.release()

    def _lend(self, own: Path) -> None:
        for kept in self.folder.iterdir():
            name, _dot, checksum = kept.name.rpartition(".")
            with contextlib.suppress(OSError):
                if name and checksum == _checksum(kept.read_bytes()):
                    os.link(kept, own / name)
                else:
                    kept.unlink()

    def _keep(self, own: Path) -> None:
        with contextlib.suppress(OSError):  # the disk is full
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
        excess = sum(size for _time, size, _path in found) - self.limit_bytes
        for _time, size, path in sorted(found):
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size


def _remove_abandoned(at_work: Path) -> None:
    """Remove the folders of killed processes, whose locks are free."""
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
