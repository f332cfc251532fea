"""Find the array constants of a program, their names in the user's code, and the lines that use them."""

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line
from jaxguide.jaxpr.interpret import inner_jaxprs, is_literal
from jaxguide.jaxpr.own_lines import users_place


@dataclass(frozen=True)
class Constant:
    """An array constant of the program: its shape, its dtype as JAX prints it, and its size.

    Args:
        shape, dtype, size_bytes: of the array.
        name: its name in the user's code, or empty if it is not known.
        line: the first of the user's lines that uses it.
    """

    shape: tuple[int, ...]
    dtype: str
    size_bytes: int
    name: str = ""
    line: Line | None = None


def constants_of(jaxpr: Any, fn: Callable[..., Any]) -> Iterator[tuple[Any, Constant]]:
    """Yield the array constants of a jaxpr, in the order of their first use, with what is known of them.

    >>> table = jax.numpy.ones(3)
    >>> fn = lambda x: x * table
    >>> [(one.name, one.line.number) for _value, one in constants_of(jax.make_jaxpr(fn)(1.0), fn)]
    [('table', 1)]
    """
    used: dict[int, tuple[Any, Line | None]] = {}
    for value, line in _uses(jaxpr, None):
        used.setdefault(id(value), (value, line))
    held = list(_held(fn, set())) if used else []
    for value, line in used.values():
        same = [one for one in held if one[1] is value] or [one for one in held if _equal(value, one[1])]
        # Of several arrays with the same numbers, any may be meant.
        name = same[0][0] if len({id(leaf) for _name, leaf in same}) == 1 else ""
        yield value, Constant(tuple(np.shape(value)), str(value.dtype), getattr(value, "nbytes", 0), name, line)


def _uses(jaxpr: Any, outer: Line | None) -> Iterator[tuple[Any, Line | None]]:
    """Yield the constants that each equation and result takes, and the user's line there."""
    plain, constants = compat.jaxpr_parts(jaxpr)
    known = dict(zip(plain.constvars, constants, strict=False))
    for eqn in plain.eqns:
        taken = [known[atom] for atom in eqn.invars if not is_literal(atom) and atom in known]
        inside = inner_jaxprs(eqn)
        if taken or inside:
            place = users_place(eqn.source_info)
            line = place[0] if place else outer
            yield from ((value, line) for value in taken)
            yield from itertools.chain.from_iterable(_uses(inner, line) for inner in inside)
    yield from ((known[atom], outer) for atom in plain.outvars if not is_literal(atom) and atom in known)


def _held(fn: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that the user's code of a function reaches, and of those that it calls, with their names."""
    fn = inspect.unwrap(fn)
    code = getattr(fn, "__code__", None)
    if not isinstance(code, CodeType) or is_library(code.co_filename) or id(fn) in seen:
        return
    seen.add(id(fn))
    cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
    for name in dict.fromkeys([*cells, *_names(code)]):
        try:
            value = cells[name].cell_contents if name in cells else fn.__globals__[name]
            leaves = jax.tree_util.tree_leaves_with_path(value)
        except Exception:  # not assigned yet, an attribute's name, or a user's pytree that cannot be flattened
            continue
        if callable(value):
            yield from _held(value, seen)
        yield from ((f"{name}{jax.tree_util.keystr(path)}", leaf) for path, leaf in leaves if hasattr(leaf, "dtype"))


def _names(code: CodeType) -> list[str]:
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return [*code.co_names, *itertools.chain.from_iterable(inner)]


def _equal(constant: Any, leaf: Any) -> bool:
    """Return whether a constant is a NumPy array of the user's, which JAX keeps in its own way and dtype."""
    if isinstance(constant, jax.Array) or not isinstance(leaf, np.ndarray) or constant.shape != leaf.shape:
        return False
    return np.array_equal(np.asarray(constant), leaf.astype(constant.dtype))
