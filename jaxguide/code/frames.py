"""Tell the user's code from library code by its file."""

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
    """Tell whether a file is Python's, an installed package's or this package's, rather than the user's.

    Course files that a wheel carries are the user's.

    >>> is_library(jax.__file__), is_library("/home/ada/lesson.py"), is_library("<ipython-input-1>")
    (True, False, False)
    >>> is_library("/home/ada/.local/lib/python3.12/site-packages/flax/core/scope.py")
    True
    """
    if filename.startswith(_COURSE):
        return False
    # Packages of the user's own site, Debian's and those of another environment lie in folders of these names, too.
    return is_own(filename) or filename.startswith(_installed()) or bool(_PACKAGES & set(Path(filename).parts[:-1]))


def is_own(filename: str) -> bool:
    """Tell whether a file is part of this package (and no course file that it carries)."""
    return filename.startswith(_OWN) and not filename.startswith(_COURSE)


@functools.cache
def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}
    folders |= {str(Path(os.__file__).parent), str(Path(jax.__file__).parent)}
    return (*(f"{folder}{os.sep}" for folder in folders), "<frozen ", "<__array_function__ internals>")
