"""Tell the user's code from library code by its file name."""

import functools
import os
import sysconfig
from pathlib import Path
from types import CodeType

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


def is_users_code(code: CodeType) -> bool:
    """Return whether code is the user's: neither from a library nor generated, as a dataclass's `__init__` is.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     def double(self):
    ...         return 2 * self.x
    >>> is_users_code(Point.double.__code__), is_users_code(Point.__init__.__code__)
    (True, False)
    """
    return not is_library(code.co_filename) and not _is_generated(code)


def _is_generated(code: CodeType) -> bool:
    # What `python -c` and `exec` run is called "<string>" too, and is the user's.
    if code.co_filename == "<string>":
        named_tuple = code.co_name == "<lambda>" and code.co_varnames[:1] == ("_cls",)
        return named_tuple or code.co_qualname.startswith("__create_fn__.<locals>.")  # of `dataclasses`
    return code.co_filename.startswith(("<attrs generated ", "<@beartype("))


def package_of(filename: str) -> str | None:
    """Return the name under which to import the installed package that a file belongs to; None for other files.

    JAX, Python and this package count as no package.

    >>> package_of("/usr/lib/python3/site-packages/flax/core/scope.py"), package_of("/home/ada/lesson.py")
    ('flax', None)
    >>> package_of(jax.__file__) is None
    True
    """
    name = package_name(filename)
    return None if name in ("Python", "jax", "jaxguide") else name


@functools.cache
def is_own(filename: str) -> bool:
    """Return whether a file is part of this package, not counting the course files in a wheel."""
    return filename.startswith(_OWN) and not filename.startswith(_COURSE)


@functools.cache
def package_name(filename: str) -> str:
    """Return the name of the installed package that a file of library code belongs to; "Python" for its own library.

    >>> package_name(jax.__file__), package_name("/usr/lib/python3/dist-packages/flax/linen/module.py")
    ('jax', 'flax')
    """
    parts = Path(filename).parts
    for place in reversed(range(len(parts) - 1)):
        if parts[place] in _PACKAGES:
            return parts[place + 1].removesuffix(".py")
    own = {"jaxguide": _OWN, "jax": f"{Path(jax.__file__).parent}{os.sep}"}
    return next((name for name, folder in own.items() if filename.startswith(folder)), "Python")


@functools.cache
def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}
    folders |= {str(Path(os.__file__).parent), str(Path(jax.__file__).parent)}
    return (*(f"{folder}{os.sep}" for folder in folders), "<frozen ", "<__array_function__ internals>")
