"""Compile each program once, though many functions ask for it."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jaxguide.files import remove_oldest

_KEPT_BYTES = 256 * 2**20


@contextlib.contextmanager
def compiled_once(folder: Path | None = None, kept: Path | None = None) -> Iterator[Path]:
    """Let JAX keep in a folder what this process compiles, until the end of the block.

    Judging jits each answer anew, so that traces can be counted; JAX then compiles the same program for each of them.
    A folder is for one process: JAX (0.12.0) writes its files in place, and warns in every process that reads
    one which a killed process has left half-written.

    Args:
        folder: by default one that is removed in the end.
        kept: where processes that follow each other keep what they compiled: it is taken from there at the beginning,
            and what is new is put there at the end, each file whole or not at all. The oldest go where there are more
            than 256 MB. Where it cannot be read or written, all is compiled.

    Yields:
        The folder.
    """
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-programs-")))
        if kept is not None:
            _share(kept, folder)
        settings = {
            "jax_compilation_cache_dir": str(folder),
            "jax_persistent_cache_min_compile_time_secs": 0.0,
            "jax_persistent_cache_min_entry_size_bytes": -1,
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
            if kept is not None:
                _share(folder, kept)
                remove_oldest(kept, _KEPT_BYTES)


def _share(source: Path, target: Path) -> None:
    """Let `target` have the files of `source` that it lacks."""
    with contextlib.suppress(OSError):
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
        there = set(os.listdir(target))
        for path in source.iterdir():
            if path.name not in there and not path.name.endswith(".part"):
                with contextlib.suppress(FileExistsError):
                    _link(path, target / path.name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # another file system, or one without links
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        shutil.copyfile(source, part)
        part.replace(target)

