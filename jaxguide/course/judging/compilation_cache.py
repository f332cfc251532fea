"""Compile each program only once, within a process and across later processes."""

import contextlib
import ctypes
import gc
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import filelock
import psutil

from jaxguide import compat

PROGRAMS = "*-cache"
"""How the files of JAX's compilation cache are called that contain programs."""
_LARGE_BYTES = 600_000_000


@contextlib.contextmanager
def compiled_once(folder: Path | None = None) -> Iterator[Path]:
    """Let JAX cache in a folder the programs that this process compiles within the block.

    Judging jits each answer anew to count traces, and without a cache JAX would compile the same program each time.
    Each process needs a separate folder: JAX (0.12.0) writes files in place, and every process that reads a file left
    incomplete by a killed process warns.

    Args:
        folder: by default, a temporary folder.

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
            **compat.CACHE_KEY_WITHOUT_FOLDER,
        }
        before = {name: getattr(jax.config, name) for name in settings}
        try:
            for name, value in settings.items():
                jax.config.update(name, value)
            reset_cache()  # otherwise JAX would keep using the previous folder
            yield folder
        finally:
            for name, value in before.items():
                jax.config.update(name, value)
            reset_cache()


def free_many_programs() -> None:
    """Free the compiled programs in memory if this process is large; call it when no other thread counts traces.

    JAX keeps every program, about 2 MB each (0.10.2), and those of one exercise's planted answers take up to 700 MB.
    """
    import jax

    if psutil.Process().memory_info().rss < _LARGE_BYTES:
        return
    jax.clear_caches()
    gc.collect()
    # glibc would keep what was freed.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


class KeptPrograms:
    """A cache of compiled programs shared by successive processes: complete files, with checksums in their names.

    Each process gets a separate folder with links to the cached files. At the end, new files in it are checked and
    linked into the cache.

    Args:
        folder: the cache for one kind of machine, Python and JAX; only this user can access it.
        limit_bytes: the maximum size; the oldest files are deleted first.
    """

    def __init__(self, folder: Path, limit_bytes: int = 256 * 2**20):
        self.folder, self.limit_bytes = folder, limit_bytes

    @contextlib.contextmanager
    def lent(self) -> Iterator[Path]:
        """Provide a folder for one process to compile into, and cache what it adds; on failure, use a temporary one.

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
        with contextlib.suppress(OSError):  # for example, the disk is full
            for path in own.glob(PROGRAMS):
                if path.stat().st_nlink == 1 and _is_whole(content := path.read_bytes()):
                    with contextlib.suppress(FileExistsError):
                        os.link(path, self.folder / f"{path.name}.{_checksum(content)}")
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        found = []
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process may be deleting, too
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        excess = sum(size for _time, size, _path in found) - self.limit_bytes
        for _time, size, path in sorted(found):
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size


def _remove_abandoned(at_work: Path) -> None:
    """Delete the folders of killed processes, which no longer hold their locks."""
    for lock in at_work.glob("*.lock"):
        with contextlib.suppress(filelock.Timeout, OSError), filelock.FileLock(lock, timeout=0):
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)


def _checksum(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"


def _is_whole(content: bytes) -> bool:
    """Return whether a file is complete: the process that wrote it may have been killed."""
    if not content.startswith(b"\x78"):  # JAX compresses with zstd instead if it is installed
        return bool(content)
    try:
        zlib.decompress(content)
    except zlib.error:
        return False
    return True
