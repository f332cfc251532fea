"""Set up all tests: load the course once, clear JAX's caches, and reset NumPy's print options."""

import gc
import os
import signal
import sys
from collections.abc import Iterator

# Most of what the tests compile runs once, so optimizing it would cost more than it saves. `jaxguide verify` compiles
# as students do.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import jax
import numpy as np
import psutil
import pytest

from jaxguide import compat
from jaxguide.course.books.library import Course, load_course

pytest_plugins = ["documented_course", "kept_programs", "set_up_course", "tiny_course"]

# As each of jaxguide's commands does: workers find what a grader compiled only if both have the same flags.
compat.set_print_flag()

_LONGEST = {"test_corpus.py"}
_PRINT_OPTIONS = np.get_printoptions()
# Clear caches above this much memory, and again after it has grown by this much more.
_enough_bytes, _MORE_BYTES = 700_000_000, 100_000_000
# Importing jsonschema builds 39 parsers, which takes seconds per process, for formats that our schemas do not use.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
# Shells make background jobs ignore Ctrl-C, and the processes that the tests start and interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The 9,000 tests and what their modules define stay to the end: no collection of garbage has to look at them.
gc.disable()
# IPython warns if the activated environment is not the one of the running Python.
os.environ.pop("VIRTUAL_ENV", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, and reject `hours` marks without a reason, since CI skips these tests."""
    # Begun last, a test of a minute would keep one process busy while the others have nothing left to do.
    items.sort(key=lambda item: item.path.name not in _LONGEST)
    for item in items:
        for mark in item.iter_markers("hours"):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f'{item.nodeid}: the mark `hours` needs a reason: `hours(reason="...")`')


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


@pytest.fixture(scope="session")
def whole_course() -> Course:
    """Return the course that comes with the package, with its keys; tests must not change it."""
    return load_course()


@pytest.fixture(autouse=True)
def small_process() -> Iterator[None]:
    """Clear JAX's caches after a test if the process uses too much memory."""
    global _enough_bytes
    yield
    process = psutil.Process()
    if process.memory_info().rss > _enough_bytes:
        jax.clear_caches()
        gc.collect()
        # Clearing does not free all memory: without a higher limit, every later test would clear the caches again.
        _enough_bytes = max(_enough_bytes, process.memory_info().rss + _MORE_BYTES)


@pytest.fixture(autouse=True)
def printed_as_by_default() -> Iterator[None]:
    """Use NumPy's default print options in each test: cards print arrays with them, and other tests may change them."""
    with np.printoptions(**_PRINT_OPTIONS):
        yield
