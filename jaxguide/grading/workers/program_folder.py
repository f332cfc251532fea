"""Let a worker load compiled programs from a folder."""

import dataclasses
import os
import stat
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class ProgramFolder:
    """A folder of compiled programs for a worker, which isolation lets it open by name but not list.

    Args:
        folder: the folder, in the layout of JAX's compilation cache.
        is_filled: whether the worker also saves what it compiles, for trusted code only.
    """

    folder: Path
    is_filled: bool = False

    def to_plain(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "is_filled": self.is_filled}


def use(folder: str, is_filled: bool) -> None:
    """Let JAX load programs from a folder. Call this in a worker before JAX compiles anything.

    Args:
        folder: the folder, in the layout of JAX's compilation cache. If it cannot be read, nothing happens.
        is_filled: whether to also save programs there; otherwise nothing is written.
    """
    if not os.access(folder, os.X_OK):
        return
    import jax

    from jaxguide import compat

    jax.config.update("jax_compilation_cache_dir", folder)
    for name, value in compat.CACHE_KEY_WITHOUT_FOLDER.items():
        jax.config.update(name, value)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # Longer than any compilation, so that JAX writes nothing: a failed write would warn in the student's output.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0 if is_filled else 1e9)


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
