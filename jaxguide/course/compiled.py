"""Compile each program once, though many functions ask for it."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


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
