"""Tell the user's code from library code by its file name."""

import functools
import os
import sysconfig
from pathlib import Path

import jax

_OWN = f"{Path(__file__).parents[1]}{os.sep}"
_PACKAGES = {"site-packages", "dist-packages"}
_COURSE = f"{_OWN}_course{os.sep}"


@functools.cache
def is_library(filename: str) -> bool:
    """Return whether a file belongs to Python, an installed package or this package, and not to the user.

    The course files in a wheel count as the user's.

    >>> is_library(jax.__file__), is_library("/home/ada/lesson.py"), is_library("<ipython-input-1>")
    (True, False, False)
    >>> is_library("/home/ada/.local/lib/python3.12/site-packages/flax/core/scope.py")
    True
    """
    if filename.startswith(_COURSE):
        return False
    # The user's site, Debian's packages and other environments have folders with these names too.
    return is_own(filename) or filename.startswith(_installed()) or bool(_PACKAGES & set(Path(filename).parts[:-1]))


def is_own(filename: str) -> bool:
    """Return whether a file is part of this package, not counting the course files in a wheel."""
    return filename.startswith(_OWN) and not filename.startswith(_COURSE)


@functools.cache
def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}
    folders |= {str(Path(os.__file__).parent), str(Path(jax.__file__).parent)}
    return (*(f"{folder}{os.sep}" for folder in folders), "<frozen ", "<__array_function__ internals>")
