"""Find the first equation of a program that made a NaN or an infinity, in the result or the gradient."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.code.frames import is_library
from jaxguide.code.lines import frames_of_traceback
from jaxguide.compat.debug_flags import CHECKS, flags_off
from jaxguide.compat.rule_lines import lines_of_rules
from jaxguide.debug.nan_advice import advised, lead_back
from jaxguide.debug.nan_report import BadValue, NanReport
from jaxguide.debug.nan_values import values_of
from jaxguide.debug.nan_watch import NanWatch, is_bad, is_real, is_ref
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.arguments import require_call, require_values
from jaxguide.jaxpr.eager import run_eagerly
from jaxguide.jaxpr.stage import stage


@flags_off(*CHECKS)
def find_nan(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> NanReport:
    """Find the first equation that produces a NaN or infinity when `fn`, or its gradient, is evaluated.

    >>> import jax.numpy as jnp
    >>> def safe_log(x):
    ...     return jnp.where(x > 0, jnp.log(x), 0.0)
    >>> report = find_nan(safe_log, jnp.array([1.0, 0.0, 2.0]))
    >>> report.first.primitive, report.first.made, report.first.index, report.first.operands
    ('log', '-inf', (1,), ('0.0',))
    >>> report.result_is_finite, report.gradient_is_finite, report.bad_gradients
    (True, False, ['x'])
    >>> bool(find_nan(safe_log, jnp.array([1.0, 3.0])))
    False

    The program really runs, equation by equation, including its host callbacks. A large one runs compiled, with all its
    values in memory at once, and its loops are looked into only if something in it or in its gradient is not finite. If
    the result is finite, the gradient of its sum with respect to every floating-point argument is checked too, because
    a NaN that `jnp.where` masks is harmless in the forward pass but can still spoil the gradient. An infinity that is
    written in the code (`jnp.where(mask, x, -jnp.inf)`) is reported only if it reaches the result. The body of a
    `jax.shard_map` or `pmap` is run for each of its devices. Based on `jax.make_jaxpr`; JAX's own `jax.debug_nans`
    names a loop, but not the line in it.

    Args:
        fn: any function, also jitted, vmapped or made by `jax.grad`; if it needs real values (a Python `if` on an
            array), it is run without tracing. What NumPy computes in it has no equations; the report says where.
        args, kwargs: its arguments; arrays and floats are traced, Python integers, strings and None are passed as they
            are.

    Returns:
        A `NanReport`, which is true if something was found. Print it.

    Raises:
        TypeError: `fn` is not a function, does not take these arguments, or gets a `jax.ShapeDtypeStruct`.
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: whatever `fn` raises.
    """
    require_call("find_nan", fn, args, kwargs)
    require_values("find_nan", args, kwargs, of="arrays", such_as="such as those that led to the NaN")
    return search(fn, args, kwargs)


def search(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, inside: bool = False) -> NanReport:
    """Do what `find_nan` does; look inside the loops of a large program only if something is wrong, or at once."""
    names = [name for first, value in arguments(fn, args, kwargs) for name, _leaf in named_leaves(first, value)]
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    bad = [name for name, leaf in zip(names, leaves, strict=True) if is_bad(leaf[...] if is_ref(leaf) else leaf)]
    result, forward, error = _run(fn, args, kwargs, inside=inside)
    bad_results = [name for name, leaf in result if is_bad(leaf)]
    report = NanReport(_found(fn, args, kwargs, forward), bad, bad_results, outside=_outside(error))
    skipped = forward.skipped
    if bad_results and report.outside:  # what came in as a constant was computed there
        found = [one.changed(kind="outside") if one.kind == "written" else one for one in report.found]
        report = replace(report, found=found)
    elif not bad_results and not any(is_real(leaf) for _name, leaf in result):
        report = replace(report, gradient_note="no_floats")
    elif not bad_results:
        report, backward = _with_gradient(report, fn, structure, leaves, names, inside)
        skipped = skipped or backward
    if skipped and not inside and (report or report.gradient_is_finite is False):
        return search(fn, args, kwargs, inside=True)
    return replace(report, found=list(map(advised, report.found)))


def _run(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, inside: bool
) -> tuple[list[tuple[str, Any]], NanWatch, Exception | None]:
    """Run a function; return the leaves of its result with their names, what was seen, and why it was not traced."""
    given = jax.tree.leaves((args, kwargs))
    try:
        with lines_of_rules(is_library):
            staged = stage(fn, args, kwargs)
    except Exception as error:  # without tracing, the same call works or raises the user's own error
        watch = NanWatch(given)
        result = run_eagerly(fn, args, kwargs, watch)
        watch.finish(jax.tree.leaves(result))
        return named_leaves("result", result), watch, error
    values = [jnp.asarray(value) for value in staged.arguments]
    watch = NanWatch([*values, *filter(is_ref, given)], values_of(staged.jaxpr, values), inside=inside)
    outputs = interpret.run(staged.jaxpr, values, watch)
    watch.finish(outputs)
    return [(name, y) for (name, _), y in zip(named_leaves("result", staged.result), outputs, strict=True)], watch, None


def _with_gradient(
    report: NanReport, fn: Callable[..., Any], structure: Any, leaves: Sequence[Any], names: list[str], inside: bool
) -> tuple[NanReport, bool]:
    """Add what the gradient of the sum of the results makes; return whether a loop of it was not looked into, too."""
    floats = [i for i, leaf in enumerate(leaves) if is_real(leaf)]
    # A model may have Python floats that it cannot take as tracers, such as the rate of a dropout.
    arrays = [i for i in floats if not isinstance(leaves[i], float)]
    note = "" if floats else "no_floats"
    for chosen in filter(None, [floats, arrays] if arrays != floats else [floats]):

        def total(*values: Any, chosen: Sequence[int] = chosen) -> jax.Array:
            filled = dict(enumerate(leaves)) | dict(zip(chosen, values, strict=True))
            args, kwargs = jax.tree.unflatten(structure, filled.values())
            outputs = [y for y in jax.tree.leaves(fn(*args, **kwargs)) if is_real(y)]
            return functools.reduce(jnp.add, [jnp.sum(y).astype(jnp.result_type(float)) for y in outputs])

        differentiated = jax.grad(total, argnums=tuple(range(len(chosen))))
        try:
            gradient, watch, _error = _run(differentiated, [jnp.asarray(leaves[i]) for i in chosen], {}, inside=inside)
        except jax.errors.TracerArrayConversionError:
            note = "JAX has no derivative of what NumPy computes."
        except Exception as error:  # no gradient: through a `while`, a callback, or a custom rule without one
            note = note or f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            bad = [names[i] for i, (_name, leaf) in zip(chosen, gradient, strict=True) if is_bad(leaf)]
            known = set(map(_place, report.found))
            new = [one.changed(backward=True) for one in watch.reached if one.backward or _place(one) not in known]
            found = report.found + (new if bad else [])
            return replace(report, found=found, bad_gradients=bad, gradient_is_finite=not bad), watch.skipped
    return replace(report, gradient_note=note), False


def _found(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], watch: NanWatch) -> list[BadValue]:
    """Return what was found, with the backward pass of a gradient function marked: what its primal does not make.

    JAX marks transposed equations itself; factors of the chain rule carry the same names as the forward pass.
    """
    lead_back(watch)
    found = watch.reached + watch.masked
    primal = inspect.unwrap(fn)
    if primal is fn or not watch.differentiates or all(bad.backward for bad in found):
        return found
    try:
        _, forward, _ = _run(primal, args, kwargs, inside=True)
    except Exception:  # `fn` is more than a gradient: keep what JAX marked
        return found
    known = {_place(bad) for bad in forward.reached + forward.masked}
    return [bad if _place(bad) in known else bad.changed(backward=True) for bad in found]


def _place(bad: BadValue) -> tuple[Any, ...]:
    return bad.primitive, bad.line, bad.loops


def arguments(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return each argument with its name, in the order of `jax.tree.leaves((args, kwargs))`.

    >>> arguments(lambda params, x: x, ({"w": 1}, 3), {})
    [('params', {'w': 1}), ('x', 3)]
    """
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = names[: len(args)] + [f"argument {i}" for i in range(len(names), len(args))]
    return [*zip(names, args, strict=True), *sorted(kwargs.items())]


def named_leaves(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return the leaves of a value with names.

    >>> named_leaves("params", {"w": 1})
    [("params['w']", 1)]
    """
    found = jax.tree_util.tree_leaves_with_path(value)
    return [(f"{name}{jax.tree_util.keystr(path)}", leaf) for path, leaf in found]


def _outside(error: Exception | None) -> str:
    """Return a sentence that says where NumPy ran outside JAX, based on the error from tracing the function."""
    if not isinstance(error, jax.errors.TracerArrayConversionError):
        return ""
    places = [f" at {line}" for _frame, line in frames_of_traceback(error.__traceback__)]
    where = places[-1] if places else ""
    return (
        f"NumPy or SciPy ran on the host{where}, outside JAX, where equations cannot be seen: use `jax.numpy` or "
        "`jax.scipy`."
    )
