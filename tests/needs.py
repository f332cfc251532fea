"""Skip tests that need what this machine lacks, and say what to install; under `.ci/run`, they fail instead."""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import pytest

# For tests that take minutes and whose outcome depends on no Python or JAX release: CI runs them once.
ON_THE_NEWEST = pytest.mark.hours(reason="CI runs it on the newest Python")
if sys.version_info >= (3, 12):
    ON_THE_NEWEST = pytest.mark.long
# If this variable is 1, tests fail instead of being skipped.
VARIABLE = "JAXGUIDE_REQUIRE_ALL"


def first_of(values: Iterable[Any], count: int) -> list[Any]:
    """Return a test's parameters; all but the first `count` are marked `long`, so `make test` leaves them out."""
    return [value if i < count else pytest.param(value, marks=pytest.mark.long) for i, value in enumerate(values)]


def needs(found: object, what: str) -> None:
    """Skip the test unless `found` is true.

    Args:
        found: whether the machine has what the test needs.
        what: what the test needs and how to get it, such as `"git (install it)"`.
    """
    if not found:
        lacks(what)


def needs_program(*names: str) -> str:
    """Return the path of the first of these programs that is installed, or skip the test."""
    for path in filter(None, map(shutil.which, names)):
        return path
    return lacks(f"{' or '.join(names)} (install one)" if len(names) > 1 else f"{names[0]} (install it)")


def lacks(what: str) -> NoReturn:
    """Skip the test, or fail it if tests may not be skipped."""
    if os.environ.get(VARIABLE) == "1":
        pytest.fail(f"needs {what}, and tests may not be skipped if {VARIABLE}=1")
    # The report names the test, and not this line.
    raise pytest.skip.Exception(f"needs {what}", _use_item_location=True)
