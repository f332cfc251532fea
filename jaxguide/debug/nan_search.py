"""Find the first equation of a program that made a NaN or an infinity, in the result or the gradient."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.code.frames import is_library
from jaxguide.code.lines import frames_of_traceback
from jaxguide.compat.debug_flags import CHECKS, flags_off
from jaxguide.compat.rule_lines import lines_of_rules
from jaxguide.debug.nan_advice import advised, lead_back
from jaxguide.debug.nan_report import BadValue, NanReport
from jaxguide.debug.nan_screen import is_clean, sum_of_results
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

    The program really runs, equation by equation, including its host callbacks. A large one runs compiled first, with
    its gradient: if all of it is finite, that is all. If the result is finite, the gradient of its sum with respect to
    every floating-point argument is checked too, because a NaN that `jnp.where` masks is harmless in the forward pass
    but can still spoil the gradient. An infinity that is written in the code (`jnp.where(mask, x, -jnp.inf)`) is
    reported only if it reaches the result. The body of a `jax.shard_map` or `pmap` is run as a `vmap` over its devices,
    so indices in it begin with the device. Based on
    `jax.make_jaxpr`; JAX's own `jax.debug_nans` names a loop, but not the line in it.

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
    return search(fn, args, kwargs, screens=True)


def search(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, screens: bool) -> NanReport:
    """Do what `find_nan` does; run a large program equation by equation at once unless `screens`."""
    names = [name for first, value in arguments(fn, args, kwargs) for name, _leaf in named_leaves(first, value)]
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    bad = [name for name, leaf in zip(names, leaves, strict=True) if is_bad(leaf[...] if is_ref(leaf) else leaf)]
    floats = [i for i, leaf in enumerate(leaves) if is_real(leaf)]
    # A model may have Python floats that it cannot take as tracers, such as the rate of a dropout.
    arrays = [i for i in floats if not isinstance(leaves[i], float)]
    choices = [floats, arrays] if arrays and arrays != floats else [floats]
    staged, error = _staged(fn, args, kwargs)
    if screens and not bad and staged is not None and is_clean(fn, staged.jaxpr, structure, leaves, choices):
        return NanReport(gradient_is_finite=True if floats else None, gradient_note="" if floats else "no_floats")
    forward = NanWatch()
    result = _run(fn, args, kwargs, staged, forward)
    unseen = _outside(error)
    bad_results = [name for name, leaf in result if is_bad(leaf)]
    report = NanReport(bad_arguments=bad, bad_results=bad_results, outside=unseen)
    found = _found(fn, args, kwargs, forward)
    if bad_results:
        # What came in as a constant was computed outside of JAX, if anything was.
        found = [one.changed(kind="outside") if unseen and one.kind == "written" else one for one in found]
        return report.changed(found=list(map(advised, found)))
    if not floats or not any(is_real(leaf) for _name, leaf in result):
        return report.changed(found=list(map(advised, found)), gradient_note="no_floats")
    note = ""
    for chosen in choices:
        try:
            which, backward = _gradient(fn, structure, leaves, chosen)
        except jax.errors.TracerArrayConversionError:
            note = "JAX has no derivative of what NumPy computes."
        except Exception as error:  # no gradient: through a `while`, a callback, or a custom rule without one
            note = note or f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            known = {_place(one) for one in found}
            found += [one.changed(backward=True) for one in backward if one.backward or _place(one) not in known]
            report = report.changed(bad_gradients=[names[i] for i in which], gradient_is_finite=not which)
            return report.changed(found=list(map(advised, found)))
    return report.changed(found=list(map(advised, found)), gradient_note=note)


def _staged(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    """Return the traced function, or None and the error if it has to be run without tracing."""
    try:
        with lines_of_rules(is_library):
            return stage(fn, args, kwargs), None
    except Exception as error:  # without tracing, the same call works or raises the user's own error
        return None, error


def _run(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], staged: Any, watch: NanWatch
) -> list[tuple[str, Any]]:
    """Run a function, traced unless `staged` is None, and return the leaves of its result with their names."""
    given = jax.tree.leaves((args, kwargs))
    if staged is None:
        watch.given(given)
        result = run_eagerly(fn, args, kwargs, watch)
        watch.finish(jax.tree.leaves(result))
        return named_leaves("result", result)
    values = [jnp.asarray(value) for value in staged.arguments]
    watch.given([*values, *filter(is_ref, given)])
    outputs = interpret.run(staged.jaxpr, values, watch)
    watch.finish(outputs)
    return [(name, value) for (name, _), value in zip(named_leaves("result", staged.result), outputs, strict=True)]


def _gradient(
    fn: Callable[..., Any], structure: Any, leaves: Sequence[Any], chosen: Sequence[int]
) -> tuple[list[int], list[BadValue]]:
    """Run the gradient of the sum of the results; return which leaves have a bad one, and what made it."""

    def total(*values: Any) -> jax.Array:
        filled = dict(enumerate(leaves)) | dict(zip(chosen, values, strict=True))
        return sum_of_results(fn, structure, list(filled.values()))

    differentiated = jax.grad(total, argnums=tuple(range(len(chosen))))
    values = [jnp.asarray(leaves[i]) for i in chosen]
    watch = NanWatch()
    staged, _error = _staged(differentiated, values, {})
    gradient = _run(differentiated, values, {}, staged, watch)
    bad = [i for i, (_name, leaf) in zip(chosen, gradient, strict=True) if is_bad(leaf)]
    return bad, watch.reached if bad else []


def _found(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], watch: NanWatch) -> list[BadValue]:
    """Return what was found, with the backward pass of a gradient function marked: what its primal does not make.

    JAX marks transposed equations itself; factors of the chain rule carry the same names as the forward pass.
    """
    lead_back(watch)
    found = watch.reached + watch.masked
    primal = inspect.unwrap(fn)
    if primal is fn or not watch.differentiates or all(bad.backward for bad in found):
        return found
    forward = NanWatch()
    try:
        _run(primal, args, kwargs, _staged(primal, args, kwargs)[0], forward)
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
