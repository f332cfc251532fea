"""What all tests share: the course, small processes, NumPy's own way to print."""

import gc
import os
import signal
import sys
from collections.abc import Iterator

# Most of what tests compute runs once, and XLA would take longer to optimize it. CI tests with optimizations too.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import jax
import numpy as np
import psutil
import pytest

from jaxguide.course.books.library import Course, load_course

pytest_plugins = ["kept_programs", "proof_records", "tiny_course"]

_PRINT_OPTIONS = np.get_printoptions()
# A process of more is made smaller where one module of tests ends.
_ENOUGH_BYTES = 700_000_000
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


@pytest.fixture(scope="module", autouse=True)
def small_process() -> Iterator[None]:
    """Let go of what JAX keeps of the functions of this module's tests, where it has become much."""
    yield
    if psutil.Process().memory_info().rss > _ENOUGH_BYTES:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(autouse=True)
def printed_as_by_default() -> Iterator[None]:
    """Give each test NumPy's own way to print: cards show arrays with it, and another test may have changed it."""
    with np.printoptions(**_PRINT_OPTIONS):
        yield
