"""Trace a function with abstract arrays, passing its other arguments as they are."""

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off


@dataclass(frozen=True)
class Staged:
    """A traced function: its jaxpr and the values of its traced arguments.

    Args:
        jaxpr: the closed jaxpr, as `jax.make_jaxpr` returns it.
        arguments: the flat list of its input values.
        result: what the function returns, with `jax.ShapeDtypeStruct` in place of arrays, and None in place of other
            arguments that it passed on, such as a model's activation function.
        traced: whether each leaf of the arguments was traced.
        needs_values: whether arguments that could be traced were kept as values.
    """

    jaxpr: Any
    arguments: tuple[Any, ...]
    result: Any
    traced: list[bool]
    needs_values: bool = False


def is_traced_argument(leaf: Any) -> bool:
    """Return whether an argument becomes a tracer: arrays, keys, NumPy scalars and floats do, the rest stay static.

    Python integers stay static because they are so often shapes, axes and seeds.

    >>> [is_traced_argument(x) for x in (np.zeros(2), 1.5, 3, "mean", None, True)]
    [True, True, False, False, False, False]
    """
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind not in "OSTUmM"
    return isinstance(leaf, jax.Array | jax.ShapeDtypeStruct | float | complex)


def traced_leaves(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[bool]:
    """Return for each leaf of a call's arguments whether it becomes a tracer.

    See `is_traced_argument`. But if equinox wrapped `fn` or made a model among the arguments, Python floats stay static
    as in `equinox.filter_jit`: a model has them, and its gradients have None in their place.

    >>> traced_leaves(max, (np.zeros(2), 1.5, 3), {})
    [True, True, False]
    """
    module: Any = getattr(sys.modules.get("equinox"), "Module", ())
    leaves = jax.tree.leaves((tuple(args), dict(kwargs)))
    around = jax.tree.leaves((tuple(args), dict(kwargs)), is_leaf=lambda value: isinstance(value, module))
    wrapped: Any = fn
    while wrapped is not None:
        around.append(wrapped)
        wrapped = getattr(wrapped, "__wrapped__", None)
    static = (float, complex) if any(isinstance(value, module) for value in around) else ()
    return [is_traced_argument(leaf) and type(leaf) not in static for leaf in leaves]


def is_jax_type(value: Any) -> bool:
    """Return whether JAX can compute a value: an array, a key or a number."""
    try:
        jax.typeof(value)
    except TypeError:
        return False
    return True


@flags_off(*CHECKS, DISABLE_JIT)
def stage(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, concrete: bool = False) -> Staged:
    """Trace `fn` on the given arguments and return its jaxpr with the values to run it on.

    Based on `jax.make_jaxpr`.

    >>> staged = stage(lambda x, n: x * n, (2.0, 3), {})
    >>> staged.arguments
    (2.0,)

    Args:
        fn: the function.
        args, kwargs: its arguments; see `traced_leaves` for which become tracers.
        concrete: keep every argument static, as a constant of the program.

    Raises:
        Exception: whatever `fn` raises while it is traced.
    """
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    traced = [is_traced and not concrete for is_traced in traced_leaves(fn, args, kwargs)]

    def call(*values: Any) -> Any:
        given = iter(values)
        filled = [next(given) if is_traced else leaf for leaf, is_traced in zip(leaves, traced, strict=True)]
        positional, keywords = jax.tree.unflatten(structure, filled)
        result = fn(*positional, **keywords)
        return jax.tree.map(lambda leaf: leaf if is_jax_type(leaf) or id(leaf) not in given_ids else None, result)

    given_ids = set(map(id, leaves))
    arguments = tuple(itertools.compress(leaves, traced))
    jaxpr, result = jax.make_jaxpr(call, return_shape=True)(*arguments)
    return Staged(jaxpr, arguments, result, traced, needs_values=concrete)
