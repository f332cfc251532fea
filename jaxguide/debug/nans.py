"""Find the first equation of a program that made a NaN or an infinity, forward or in the gradient."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.base.text import _
from jaxguide.debug.nan_outside import outside
from jaxguide.debug.nan_report import BadValue, NanReport
from jaxguide.debug.nan_watch import NanWatch, is_bad
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.eager import run_eagerly
from jaxguide.jaxpr.stage import stage


def find_nan(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> NanReport:
    """Find the first equation that makes a NaN or an infinity when `fn` runs on these arguments, and in its gradient.

    The program really runs, equation by equation, so that a host callback in it runs too. First the result; where that
    is finite, the gradient of its sum for every floating-point argument, since a NaN that `jnp.where` masks is harmless
    forward and can still spoil the gradient. Rests on `jax.make_jaxpr`; `jax.debug_nans`, which JAX has for this, names
    a loop and not the line in it. An infinity that is written in the code (`jnp.where(mask, x, -jnp.inf)`) is reported
    only where it reaches the result.

    >>> import jax.numpy as jnp
    >>> def safe_log(x):
    ...     return jnp.where(x > 0, jnp.log(x), 0.0)
    >>> report = find_nan(safe_log, jnp.array([1.0, 0.0, 2.0]))
    >>> report.first.primitive, report.first.made, report.first.index, report.first.operands
    ('log', '-inf', (1,), ('0.0',))
    >>> report.result_is_finite, report.gradient_is_finite
    (True, False)
    >>> bool(find_nan(safe_log, jnp.array([1.0, 3.0])))
    False

    Args:
        fn: any function, also jitted, vmapped or made by `jax.grad`; one that needs real values (a Python `if` on an
            array) is run without tracing. What NumPy computes in it has no equations; the report says where.
        args, kwargs: its arguments; arrays and floats are traced, Python integers, strings and None stay as they are.

    Returns:
        A `NanReport`, which is true when something was found. Print it.

    Raises:
        TypeError: `fn` is no function, does not take these arguments, or is given a `jax.ShapeDtypeStruct`.
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: whatever `fn` raises.
    """
    require_call("find_nan", fn, args, kwargs)
    _require_values(args, kwargs)
    given = _arguments(fn, args, kwargs)
    bad = [name for name, value in given if is_bad(value)]
    forward = NanWatch()
    result, untraced = _run(fn, args, kwargs, forward)
    found = forward.reached + forward.masked
    unseen = outside(fn, untraced)
    if forward.reached or any(is_bad(leaf) for leaf in jax.tree.leaves(result)):
        found = [bad.from_outside() if unseen else bad for bad in _sides(fn, args, kwargs, found)]
        return NanReport(found=found, bad_arguments=bad, result_is_finite=False, outside=unseen)
    finite, backward, note = _gradient(fn, args, kwargs, result, forward)
    return NanReport(
        found=_sides(fn, args, kwargs, found) + backward,
        bad_arguments=bad,
        result_is_finite=True,
        gradient_is_finite=finite,
        gradient_note=note,
        outside=unseen,
    )


def _require_values(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    leaves = jax.tree.leaves((args, kwargs))
    if compat.under_trace() or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise RuntimeError(
            _(
                "`find_nan` was called while JAX traces or transforms a function, where arrays have no values yet: "
                "call it outside of `jax.jit`, `jax.vmap` and `jax.grad`, on the whole function."
            )
        )
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
        raise TypeError(
            _(
                "`find_nan` runs the program and was given a `jax.ShapeDtypeStruct`, which has no values: pass arrays, "
                "such as those that led to the NaN."
            )
        )


def _run(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], watch: NanWatch
) -> tuple[Any, Exception | None]:
    """Return the result, and the error that kept `fn` from being traced where it was run without."""
    try:
        staged = stage(fn, args, kwargs)
    except Exception as error:  # run without tracing, the same call works or raises the user's own error
        watch.given(jax.tree.leaves((args, kwargs)))
        result = run_eagerly(fn, args, kwargs, watch)
        watch.finish(jax.tree.leaves(result))
        return result, error
    values = [jnp.asarray(value) for value in staged.arguments]
    watch.given(values)
    outputs = interpret.run(staged.jaxpr, values, watch)
    watch.finish(outputs)
    return outputs, None


def _gradient(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], result: Any, forward: NanWatch
) -> tuple[bool | None, list[BadValue], str]:
    """Run the gradient of the sum of the results; return whether it is finite, what is bad in it, and why not run."""
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    chosen = [i for i, leaf in enumerate(leaves) if _is_float(leaf)]
    if not chosen or not any(_is_float(leaf) for leaf in jax.tree.leaves(result)):
        return None, [], "no_floats"

    def total(*values: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(chosen, values, strict=True):
            filled[i] = value
        positional, keywords = jax.tree.unflatten(structure, filled)
        outputs = [y for y in jax.tree.leaves(fn(*positional, **keywords)) if _is_float(y)]
        return functools.reduce(jnp.add, [jnp.sum(y).astype(jnp.result_type(float)) for y in outputs])

    watch = NanWatch()
    try:
        values = tuple(jnp.asarray(leaves[i]) for i in chosen)
        gradient, _error = _run(jax.grad(total, argnums=tuple(range(len(chosen)))), values, {}, watch)
    except jax.errors.TracerArrayConversionError:
        return None, [], _("JAX has no derivative of what NumPy computes.")
    except Exception as error:  # no gradient: through a `while`, a callback, or a custom rule that has none
        return None, [], f"{type(error).__name__}: {error}".splitlines()[0]
    known = {(bad.primitive, bad.line, bad.loops) for bad in forward.reached + forward.masked}
    fresh = [bad for bad in watch.reached if (bad.primitive, bad.line, bad.loops) not in known or bad.backward]
    finite = not any(is_bad(leaf) for leaf in jax.tree.leaves(gradient))
    return finite, [bad.on_the_way_back() for bad in fresh] if not finite else [], ""


def _sides(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], found: list[BadValue]
) -> list[BadValue]:
    """Mark what a gradient function made on its way back: what the function that it differentiates does not make.

    JAX says so itself of transposed equations; the factors of the chain rule carry the same name as the forward pass.
    """
    primal = inspect.unwrap(fn)
    if primal is fn or not found or all(bad.backward for bad in found):
        return found
    watch = NanWatch()
    try:
        _run(primal, args, kwargs, watch)
    except Exception:  # `fn` was more than its gradient: leave what JAX said
        return found
    known = {(bad.primitive, bad.line, bad.loops) for bad in watch.reached + watch.masked}
    return [bad if (bad.primitive, bad.line, bad.loops) in known else bad.on_the_way_back() for bad in found]


def _arguments(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return each leaf of the arguments with the name that the function gives it, such as `params['w']`."""
    try:
        named = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        named = {f"argument {i}": arg for i, arg in enumerate(args)} | kwargs
    return [
        (f"{name}{jax.tree_util.keystr(path)}", leaf)
        for name, value in named.items()
        for path, leaf in jax.tree_util.tree_leaves_with_path(value)
    ]


def _is_float(leaf: Any) -> bool:
    if isinstance(leaf, float):
        return True
    return isinstance(leaf, jax.Array | np.ndarray | np.generic) and bool(jnp.issubdtype(leaf.dtype, np.floating))
