"""Trace a function with abstract arrays, passing its other arguments as they are."""

from collections.abc import Callable, Sequence
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
        result: what the function returns, with `jax.ShapeDtypeStruct` in place of arrays.
        needs_values: whether arguments that could be traced were kept as values.
    """

    jaxpr: Any
    arguments: tuple[Any, ...]
    result: Any = None
    needs_values: bool = False


def is_traced_argument(leaf: Any) -> bool:
    """Return whether an argument becomes a tracer: arrays, keys, NumPy scalars and floats do, the rest stay static.

    Python integers stay static because they are so often shapes, axes and seeds.

    >>> [is_traced_argument(x) for x in (np.zeros(2), 1.5, 3, "mean", None, True)]
    [True, True, False, False, False, False]
    """
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | float | complex)


@flags_off(*CHECKS, DISABLE_JIT)
def stage(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, concrete: bool = False) -> Staged:
    """Trace `fn` on the given arguments and return its jaxpr with the values to run it on.

    Based on `jax.make_jaxpr`.

    >>> staged = stage(lambda x, n: x * n, (2.0, 3), {})
    >>> staged.arguments
    (2.0,)

    Args:
        fn: the function.
        args, kwargs: its arguments; see `is_traced_argument` for which become tracers.
        concrete: keep every argument static, as a constant of the program.

    Raises:
        Exception: whatever `fn` raises while it is traced.
    """
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    traced = [i for i, leaf in enumerate(leaves) if not concrete and is_traced_argument(leaf)]

    def call(*values: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(traced, values, strict=True):
            filled[i] = value
        positional, keywords = jax.tree.unflatten(structure, filled)
        return fn(*positional, **keywords)

    arguments = tuple(leaves[i] for i in traced)
    jaxpr, result = jax.make_jaxpr(call, return_shape=True)(*arguments)
    return Staged(jaxpr, arguments, result, needs_values=concrete)
