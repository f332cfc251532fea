"""Let a worker take compiled programs from a folder."""

import dataclasses
import os
import stat
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class ProgramFolder:
    """A folder of compiled programs for a worker.

    Args:
        folder: in JAX's own layout.
        is_filled: the worker runs trusted code, and what it compiles is kept.
    """

    folder: Path
    is_filled: bool = False

    def to_plain(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "is_filled": self.is_filled}


def use(folder: str, is_filled: bool) -> None:
    """Let JAX take programs from a folder, in a worker, before it compiles anything.

    Args:
        folder: in JAX's own layout; nothing happens where it cannot be read.
        is_filled: keep there what is compiled, too. Else nothing is ever written.
    """
    if not os.access(folder, os.R_OK | os.X_OK):
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # A time that no compilation takes: a failed attempt to write would be a warning, seen as the student's.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0 if is_filled else 1e9)


def is_safe(folder: Path) -> bool:
    """Return whether a folder is there and nobody else can have written to it: a changed program changes results."""
    if not hasattr(os, "getuid"):
        return folder.is_dir()
    try:
        found = folder.lstat()
    except OSError:
        return False
    writable = stat.S_IWGRP | stat.S_IWOTH
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & writable
