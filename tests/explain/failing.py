"""Run programs that fail, and return their errors."""

import contextlib
import linecache
import textwrap
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
from explain_cases.case import HEADER

SETTINGS = ("jax_debug_infs", "jax_debug_nans", "jax_debug_key_reuse", "jax_traceback_filtering")


@contextlib.contextmanager
def settings_kept() -> Iterator[None]:
    """Restore the settings of JAX that failing programs change."""
    kept = [getattr(jax.config, name) for name in SETTINGS]
    try:
        yield
    finally:
        for name, value in zip(SETTINGS, kept, strict=True):
            jax.config.update(name, value)


def program(source: str) -> str:
    return HEADER + textwrap.dedent(source).strip("\n") + "\n"


def run(program: str, file: Path) -> dict[str, Any]:
    """Run a program from a file, like a script, and return its names."""
    file.write_text(program)
    linecache.checkcache(str(file))
    names: dict[str, Any] = {"__name__": "student"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of the student's code do not matter
        exec(compile(program, str(file), "exec"), names)
    return names


def failure(program: str, file: Path) -> BaseException:
    """Run a program in a new thread and return what it raises.

    After a thread has entered `with jax.debug_nans(False)`, as JAX itself does in `core.jaxpr_as_fun`, a later
    `jax.config.update("jax_debug_nans", True)` no longer affects what it compiles (seen on 0.10.2 to 0.12.0.1).
    """
    if "jax_debug_" in program:
        jax.clear_caches()  # JAX does not check what it called before the setting was changed
    with ThreadPoolExecutor(1) as thread:
        error = thread.submit(run, program, file).exception()
    assert isinstance(error, Exception), "the program did not fail"
    return error
