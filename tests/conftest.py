"""What all tests share: the course, small processes, NumPy's own way to print."""

import gc
import os
import signal
import sys
from collections.abc import Iterator

# Most of what tests compute runs once, and XLA would take longer to optimize it. Workers and the solved lessons compile
# as students do.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import jax
import numpy as np
import psutil
import pytest

from jaxguide.course.books.library import Course, load_course

pytest_plugins = ["kept_programs", "proof_records", "tiny_course"]

_PRINT_OPTIONS = np.get_printoptions()
# Clear caches above this much memory, and again after it has grown by this much more.
_enough_bytes, _MORE_BYTES = 700_000_000, 100_000_000
# jsonschema makes 39 parsers when it is imported, in seconds of each process, for formats that no schema here has.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
# What a shell starts in the background ignores Ctrl-C, and so would all that the tests start and stop with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# IPython warns where another environment is activated than the one whose Python runs.
os.environ.pop("VIRTUAL_ENV", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that CI leaves out without a reason."""
    for item in items:
        for mark in item.iter_markers("hours"):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f'{item.nodeid}: say why it is left out: `hours(reason="...")`')


@pytest.fixture(scope="session")
def whole_course() -> Course:
    """Return the course that comes with the package, with its keys, which no test changes."""
    return load_course()


@pytest.fixture(autouse=True)
def small_process() -> Iterator[None]:
    """Let go of what JAX keeps of the functions of the tests so far, whenever it has become much."""
    global _enough_bytes
    yield
    process = psutil.Process()
    if process.memory_info().rss > _enough_bytes:
        jax.clear_caches()
        gc.collect()
        # Clearing does not return all memory; do not clear after every test from now on.
        _enough_bytes = max(_enough_bytes, process.memory_info().rss + _MORE_BYTES)


@pytest.fixture(autouse=True)
def printed_as_by_default() -> Iterator[None]:
    """Give each test NumPy's own way to print: cards show arrays with it, and another test may have changed it."""
    with np.printoptions(**_PRINT_OPTIONS):
        yield
