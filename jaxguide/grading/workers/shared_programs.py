"""Save compilation time in workers: let them load programs that were compiled from the key's answers.

Each state of a course has a separate folder for each version of JAX. Of a user's folders, the most recent are kept.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import shutil
import stat
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from jaxguide.base.files import user_folder, write_whole

OWN, SHARED, VALUES = ".own", ".shared", ".values"
# The number of folders to keep, besides those used within a day, which may be in use.
KEPT = 8
_IN_USE_S = 24 * 3600.0


def share(folder: Path, programs: Iterable[Path]) -> None:
    """Copy programs that were compiled from the key's answers to the folder from which workers load them.

    Some of them are the key. But workers can only open files there by name, and a program's name contains a hash of
    what it was compiled from: only code that compiles the same program finds it. If the disk refuses, workers compile
    for themselves.

    Args:
        folder: the folder of one state of a course, see `folder_of`.
        programs: files of JAX's compilation cache.
    """
    with contextlib.suppress(OSError):
        for path in programs:
            write_whole(folder / SHARED / path.name, path.read_bytes(), 0o644)  # a worker may run as another user


def prune(used: Path) -> None:
    """Mark a folder from `folder_of` as used, and delete the least recently used ones.

    Args:
        used: the folder. If it is not in this user's cache, nothing is deleted.
    """
    if used.parent != _all_programs():
        return
    with contextlib.suppress(OSError):
        os.utime(used)
        ages = {one: time.time() - one.lstat().st_mtime for one in used.parent.iterdir() if one != used}
        for one in sorted(ages, key=ages.__getitem__)[KEPT - 1 :]:
            if ages[one] > _IN_USE_S:
                shutil.rmtree(one, ignore_errors=True)  # does not delete links or files


def folder_of(course_digest: str) -> Path:
    """Return the folder for the programs and values of one state of a course on this kind of machine.

    It contains the folder `SHARED` with programs that workers may load, the folder `OWN` with programs for the grader
    only, the file `VALUES` with the results of the key's answers, and an empty file for each lesson that was prepared.

    Args:
        course_digest: the course's `course_state_digest`, which covers the JAX version.
    """
    flags = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    machine = f"{platform.system()} {platform.machine()} {platform.processor()} {flags}"
    versions = (sys.version, *(importlib.metadata.version(name) for name in ("jaxlib", "numpy", "scipy")))
    # Part of each program's key in JAX's cache: programs compiled with other flags would never be found.
    settings = [
        f"{name}={os.environ.get(name, '')}"
        for name in ("XLA_FLAGS", "JAX_PLATFORMS", "JAX_DISABLE_MOST_OPTIMIZATIONS")
    ]
    state = "\n".join((course_digest, machine, *versions, *settings, *_state_of_package()))
    digest = hashlib.sha256(state.encode("utf-8", "backslashreplace")).hexdigest()
    return _all_programs() / digest[:32]


def _state_of_package() -> list[str]:
    """Return the names, sizes and times of the package's files, which identify its state even in a clone."""
    package = Path(__file__).parents[2]
    found = [(path.relative_to(package).as_posix(), path.stat()) for path in sorted(package.rglob("*.py"))]
    return [f"{name} {about.st_size} {about.st_mtime_ns}" for name, about in found]


def _all_programs() -> Path:
    return user_folder() / "programs"


def load_programs(folder: str, saves: bool) -> None:
    """Let JAX load programs from a folder. Call this in a worker before JAX compiles anything.

    Args:
        folder: the folder, in the layout of JAX's compilation cache, which isolation lets workers open by name but not
            list. If it cannot be read, nothing happens.
        saves: whether to also save programs there; otherwise nothing is written.
    """
    try:
        os.stat(os.path.join(folder, "."))  # unlike `os.access`, it heeds a worker's right to look into root's folders
    except OSError:
        return
    import jax

    from jaxguide import compat

    jax.config.update("jax_compilation_cache_dir", folder)
    for name, value in compat.CACHE_KEY_WITHOUT_FOLDER.items():
        jax.config.update(name, value)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # Longer than any compilation, so that JAX writes nothing: a failed write would warn in the student's output.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0 if saves else 1e9)


def is_safe(folder: Path) -> bool:
    """Return whether a folder exists and only this user can write to it: a changed program would change results."""
    if not hasattr(os, "getuid"):
        return folder.is_dir()
    try:
        found = folder.lstat()
    except OSError:
        return False
    writable = stat.S_IWGRP | stat.S_IWOTH
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & writable
