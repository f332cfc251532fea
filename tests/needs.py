"""Skip a test where the machine lacks what it needs, and say what to install; `.ci/run` lets none be skipped."""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import pytest

# For tests whose answer depends neither on Python's release nor on JAX's, and which take CI minutes: it runs them once.
ON_THE_NEWEST = pytest.mark.hours(reason="CI runs it on the newest Python")
if sys.version_info >= (3, 12):
    ON_THE_NEWEST = pytest.mark.long
# Set to 1, what would be skipped fails.
VARIABLE = "JAXGUIDE_REQUIRE_ALL"


def first_of(values: Iterable[Any], count: int) -> list[Any]:
    """Return parameters of a test, of which only the first so many run in `make test`."""
    return [value if i < count else pytest.param(value, marks=pytest.mark.long) for i, value in enumerate(values)]


def needs(found: object, what: str) -> None:
    """Go on where `found` is true.

    Args:
        found: whether it is here.
        what: what is missing, and how to get it: `"git (install it)"`.
    """
    if not found:
        lacks(what)


def needs_program(*names: str) -> str:
    """Return the path of the first of these programs that is here."""
    for path in filter(None, map(shutil.which, names)):
        return path
    return lacks(f"{' or '.join(names)} (install one)" if len(names) > 1 else f"{names[0]} (install it)")


def lacks(what: str) -> NoReturn:
    """Skip the test, or let it fail where nothing may be skipped."""
    if os.environ.get(VARIABLE) == "1":
        pytest.fail(f"needs {what}, and {VARIABLE}=1 lets nothing be skipped")
    pytest.skip(f"needs {what}")
