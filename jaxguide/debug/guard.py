"""Watch the steps of a training loop, and find where the first NaN or infinity was made."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.compat.debug_flags import CHECKS, flags_off
from jaxguide.debug.nan_report import NanReport
from jaxguide.debug.nan_search import arguments, named_leaves, search
from jaxguide.debug.nan_watch import is_bad, is_float

P = ParamSpec("P")
R = TypeVar("R")


class NonFiniteError(FloatingPointError):
    """A step gave a NaN or an infinity.

    Args:
        message: what and where.
        step: the number of the call, counted from 1.
        report: what `find_nan` found; None if the step had donated its arguments.
    """

    def __init__(self, message: str, step: int, report: NanReport | None) -> None:
        super().__init__(message)
        self.step, self.report = step, report


def nan_guard(step: Callable[P, R]) -> Callable[P, R]:
    """Check what each call of a training step returns and changes, and search the first bad call with `find_nan`.

    >>> import jax, jax.numpy as jnp
    >>> @nan_guard
    ... @jax.jit
    ... def step(params, x):
    ...     slope = jax.grad(lambda params: jnp.sqrt(params["w"] * x))(params)
    ...     return {"w": params["w"] - slope["w"]}
    >>> params = {"w": 1.0}
    >>> for x in [1.0, 0.0]:
    ...     params = step(params, x)
    Traceback (most recent call last):
    jaxguide.debug.guard.NonFiniteError: `params['w']` is nan after step 2.
    ✗ The result contains a NaN or an infinity: `result['w']`.
      `div` made inf at <doctest jaxguide.debug.guard.nan_guard[1]>, line 4...

    Put it above `jax.jit`, or around a step that calls jitted functions. It waits for each result, so that the host
    cannot prepare the next step meanwhile; apart from that, a step costs one small reduction for each array. The call's
    arguments are kept until it returns, without copies of arrays: if the step donates them (`donate_argnums`), they are
    gone, and only the bad values are named.

    Args:
        step: the function; it may change objects that are pytrees in place, such as the models of flax nnx.

    Returns:
        A function that does the same and raises at the first bad call.

    Raises:
        NonFiniteError: a floating-point array in the result, or in an argument that was changed, is not finite.
        RuntimeError: it was called inside `jax.jit` or another transformation.
    """
    count = 0

    @functools.wraps(step)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal count
        if compat.under_trace():
            raise RuntimeError("`nan_guard` needs the values of each step: put it above `jax.jit`, not below.")
        count += 1
        kept_args, kept_kwargs = jax.tree.map(lambda leaf: leaf, (args, kwargs))  # new objects, the same arrays
        before = _leaves(step, kept_args, kept_kwargs)
        result = step(*args, **kwargs)
        changed = {name: leaf for name, leaf in _leaves(step, args, kwargs).items() if leaf is not before.get(name)}
        found = _result(result, arguments(step, args, kwargs)) | changed
        if _are_finite(list(found.values())):
            return result
        bad = [name for name, leaf in found.items() if is_bad(leaf)]
        made = "nan" if np.isnan(np.asarray(found[bad[0]])).any() else "inf"
        others = ", ".join([*(f"`{name}`" for name in bad[1:4]), *([f"{len(bad) - 4} more"] if len(bad) > 4 else [])])
        said = f"`{bad[0]}` is {made} after step {count}{f'; not finite either: {others}' if others else ''}."
        if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in before.values()):
            remedy = "leave out `donate_argnums` and `donate_argnames` to see where it was made."
            gone = "The step donates its arguments, so they are gone, and it cannot be run again"
            raise NonFiniteError(f"{said} {gone}: {remedy}", count, None)

        @functools.wraps(step)
        def with_changes(*args: P.args, **kwargs: P.kwargs) -> Any:
            return (step(*args, **kwargs), args, kwargs) if changed else step(*args, **kwargs)

        with flags_off(*CHECKS):
            report = search(with_changes, kept_args, kept_kwargs, inside=True)
        raise NonFiniteError(f"{said}\n{report}", count, report)

    return checked


def _leaves(step: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return dict(named for first, value in arguments(step, args, kwargs) for named in named_leaves(first, value))


def _result(result: Any, given: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the leaves of a result by name, where a part that has the type of an argument has the argument's name."""
    parts = [(f"result[{i}]", part) for i, part in enumerate(result)] if type(result) is tuple else [("result", result)]
    found: dict[str, Any] = {}
    for name, part in parts:
        like = next((pair for pair in given if _type(pair[1]) == _type(part)), None)
        if like is not None and (not isinstance(part, jax.Array) or part.ndim):  # not a number, such as the loss
            given = [pair for pair in given if pair is not like]
            name = like[0]
        found |= dict(named_leaves(name, part))
    return found


def _type(value: Any) -> tuple[Any, list[tuple[int, ...]]]:
    return jax.tree.structure(value), [np.shape(leaf) for leaf in jax.tree.leaves(value) if is_float(leaf)]


def _are_finite(leaves: list[Any]) -> bool:
    groups: dict[Any, list[Any]] = {}
    for leaf in filter(is_float, leaves):
        groups.setdefault(frozenset(leaf.devices()) if isinstance(leaf, jax.Array) else None, []).append(leaf)
    return all(map(_all_finite, groups.values()))


@jax.jit
def _all_finite(leaves: list[Any]) -> jax.Array:
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in leaves]).all()
