"""Name the NumPy function that ran outside of JAX, where no equation can be watched, and what takes its place."""

import ast
import linecache
import sys
from collections.abc import Callable
from types import FrameType, ModuleType, TracebackType
from typing import Any

import jax

from jaxguide import compat
from jaxguide.base.text import _
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line

_HOMES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg")


def outside(fn: Callable[..., Any], error: Exception | None) -> str:
    """Say in one sentence what NumPy ran outside of JAX, told by the error that tracing `fn` ended with.

    >>> import numpy as np
    >>> from jaxguide.debug import find_nan
    >>> find_nan(np.sqrt, 4.0).outside
    "`np.sqrt` is NumPy's and ran on the host, outside of JAX, where no equation is seen: use `jnp.sqrt`."
    >>> outside(np.sqrt, None)
    ''
    """
    if not isinstance(error, jax.errors.TracerArrayConversionError):
        return ""
    place = _last_of_user(error.__traceback__)
    path, where = _path_of(fn), ""
    if place is not None:
        frame, line, call = place
        path, where = _path_of(_value(call, frame)), _(" at {line}").format(line=line)
    if path is None:
        return _("NumPy ran on the host{where}, outside of JAX, where no equation is seen: use `jax.numpy`.").format(
            where=where
        )
    root, _dot, rest = path.partition(".")
    owner = _("NumPy's") if root == "numpy" else _("SciPy's")
    replacement = f"jnp.{rest}" if root == "numpy" else f"jax.scipy.{rest}"
    if not _exists(f"jax.{path}"):
        replacement = "jax.numpy"
    return _(
        "`{name}`{where} is {owner} and ran on the host, outside of JAX, where no equation is seen: use "
        "`{replacement}`."
    ).format(name=path.replace("numpy.", "np."), where=where, owner=owner, replacement=replacement)


def _last_of_user(traceback: TracebackType | None) -> tuple[FrameType, Line, ast.expr | None] | None:
    """Return the user's innermost frame, the line that it had reached, and what it called there."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_library(code.co_filename):
            span = compat.frame_span(code, traceback.tb_lasti)
            line = Line(code.co_filename, traceback.tb_lineno)
            found = traceback.tb_frame, line, span and _called(code.co_filename, *span)
        traceback = traceback.tb_next
    return found


def _called(file: str, first: int, last: int, start: int, end: int) -> ast.expr | None:
    lines = [linecache.getline(file, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        node = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return None
    return node.func if isinstance(node, ast.Call) else None


def _value(node: ast.expr | None, frame: FrameType) -> Any:
    """Return what a name, or an attribute of a module, is in a frame; None for any other expression."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        module = _value(node.value, frame)
        return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
    return None


def _path_of(fn: Any) -> str | None:
    """Return where a function of NumPy or SciPy is found, as 'numpy.linalg.inv'; None for any other."""
    name = getattr(fn, "__name__", "")
    for home in _HOMES:
        if name and getattr(sys.modules.get(home), name, None) is fn:
            return f"{home}.{name}"
    return None


def _exists(path: str) -> bool:
    owner: Any = jax
    for name in path.split(".")[1:]:
        owner = getattr(owner, name, None)
    return owner is not None
