"""Reject bad arguments of a helper in one sentence: what it got, what it needs, what to do."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import DISABLE_JIT, TRANSFERS, is_on
from jaxguide.jaxpr.value_words import describe


def require_function(helper: str, fn: Any, usage: str | None = None) -> None:
    """Raise TypeError unless `fn` can be called.

    >>> require_function("check_keys", 3)
    Traceback (most recent call last):
    TypeError: `check_keys` needs a function, but got the int 3: pass the function itself, without calling it, and ...

    Args:
        helper: the name of the public function that the user called.
        fn: the value that the user passed as the function.
        usage: an example call, for helpers that do not take the function's arguments after the function.
    """
    if not callable(fn):
        more = f", as in `{usage}`" if usage else f", and its arguments after it, as in `{helper}(f, x)`"
        raise TypeError(
            f"`{helper}` needs a function, but got {describe(fn)}: pass the function itself, without calling it{more}."
        )


def require_call(helper: str, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise TypeError unless `fn` is a function that takes these arguments.

    >>> require_call("check_keys", lambda key, n: None, ("a",), {})
    Traceback (most recent call last):
    TypeError: `check_keys` cannot call `<lambda>(key, n)` with 1 argument: missing a required argument: 'n'. ...
    """
    require_function(helper, fn)
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins have none
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        count = len(args) + len(kwargs)
        given = "1 argument" if count == 1 else f"{count} arguments"
        raise TypeError(
            f"`{helper}` cannot call `{function_name(fn)}{signature}` with {given}: {error}. Pass its arguments after "
            "the function, as in a call of it."
        ) from None


def is_array_like(value: Any) -> bool:
    """Return whether JAX accepts a value as an array: arrays, tracers, keys and numbers.

    >>> [is_array_like(value) for value in (np.zeros(2), 1.5, True, [1.0], "a", np.array(["a"]), None)]
    [True, True, True, False, False, False, False]
    """
    if isinstance(value, np.ndarray | np.generic):
        return bool(jax.dtypes.issubdtype(value.dtype, np.number) or value.dtype == bool)
    return isinstance(value, jax.Array | bool | int | float | complex)


def require_values(helper: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, of: str, such_as: str) -> None:
    """Raise unless a helper that runs the program was called outside a trace, with real values.

    Args:
        helper: the name of the public function that the user called.
        args, kwargs: the arguments for the program.
        of: what has no values while JAX traces.
        such_as: examples of arrays to pass.
    """
    leaves = jax.tree.leaves((args, kwargs))
    if compat.under_trace() or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise RuntimeError(
            f"`{helper}` was called while JAX is tracing or transforming a function, when {of} have no values yet: "
            "call it outside `jax.jit`, `jax.vmap` and `jax.grad`, on the whole function."
        )
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
        raise TypeError(
            f"`{helper}` runs the program, but got a `jax.ShapeDtypeStruct`, which has no values: pass arrays, "
            f"{such_as}."
        )


def require_jit(helper: str) -> None:
    """Raise RuntimeError if `jax.jit` is switched off, so that there are no traces to count.

    >>> with jax.disable_jit():
    ...     require_jit("watch_traces")
    Traceback (most recent call last):
    RuntimeError: `watch_traces` counts the traces that `jax.jit` makes, but it makes none while `jax_disable_jit` ...
    """
    if is_on(DISABLE_JIT):
        raise RuntimeError(nothing_is_traced(helper))


def nothing_is_traced(helper: str) -> str:
    """Return a sentence that says why a helper has nothing to count while `jax.jit` is switched off."""
    return (
        f"`{helper}` counts the traces that `jax.jit` makes, but it makes none while `jax_disable_jit` is on: call it "
        "in `with jax.disable_jit(False):`, or switch the flag off."
    )


def require_token(helper: str) -> None:
    """Raise RuntimeError if a trace gets an ordered call to the host that JAX will refuse to run.

    JAX sends a program with such calls a token from the host, which a transfer guard stops (0.10.2 to 0.12.0.1).
    """
    if is_on(TRANSFERS[0]) and not compat.trace_state()[1]:
        raise RuntimeError(
            f"`{helper}` is in a traced program and keeps its calls in order, for which JAX transfers a token to "
            "the device, but `jax_transfer_guard` disallows that: pass `ordered=False`, or call the program in "
            '`with jax.transfer_guard("allow"):`.'
        )
