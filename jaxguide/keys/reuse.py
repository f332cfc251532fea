"""Guard a function: raise if a call of it would use a PRNG key twice."""

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.lines import function_name
from jaxguide.jaxpr.stage import is_traced_argument
from jaxguide.jaxpr.value_words import describe
from jaxguide.keys.check import observe_keys, report_keys, warn_of_unseen
from jaxguide.keys.key_report import KeyProblem, KeyReport
from jaxguide.keys.libraries import read_ignored

Fn = TypeVar("Fn", bound=Callable[..., Any])

# Functions that return before their body has run.
_LAZY = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)

# The methods of a jitted function.
_JIT_METHODS = ("lower", "trace", "eval_shape", "clear_cache")


class KeyReuseError(RuntimeError):
    """Raised if a function would use a PRNG key twice.

    Args:
        problems: the problems, as `check_keys` returns them.
        function: the function's name.
    """

    def __init__(self, problems: Iterable[KeyProblem], function: str = "") -> None:
        super().__init__(list(problems), function)
        self.problems = list(problems)
        self.function = function

    def _repr_html_(self) -> str:
        return KeyReport(problems=self.problems)._repr_html_()

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@overload
def no_key_reuse(fn: Fn) -> Fn: ...
@overload
def no_key_reuse(*, ignore: str | Collection[str] = ()) -> Callable[[Fn], Fn]: ...
@overload
def no_key_reuse(fn: Fn, *, ignore: str | Collection[str] = ()) -> Fn: ...
def no_key_reuse(fn: Any = None, *, ignore: str | Collection[str] = ()) -> Any:
    """Check the keys of `fn` on the first call with each signature, and raise before it uses a key twice.

    >>> import jax
    >>> @no_key_reuse
    ... @jax.jit
    ... def noise(key):
    ...     return jax.random.normal(key, (3,)) + jax.random.uniform(key, (3,))
    >>> noise(jax.random.key(0))
    Traceback (most recent call last):
    jaxguide.keys.reuse.KeyReuseError: `key` was drawn from twice (both in line 4: `return ...

    A signature is what `jax.jit` compares: shapes, dtypes, weak types, the pytree structure, and the values of
    arguments that are not arrays. So a training loop pays for one check, which runs the program once more, equation by
    equation. If the function is not jitted, a Python integer may be a shape, so each value of one is another signature:
    pass a step counter as an array.

    Inside another trace or transformation (`jax.jit`, `jax.vmap`, `jax.grad`, or a function that is being checked), it
    only calls `fn`: it checks nothing and adds nothing to the program. So make it the outermost:
    `no_key_reuse(jax.jit(f))`.

    Args:
        fn: a plain, jitted or vmapped function, or a method in its class; `check_keys` says how arguments are passed.
        ignore: packages whose problems do not count, as in `@no_key_reuse(ignore="numpyro")`.

    Returns:
        A function with the same name and results; if `fn` is jitted, also with `lower`, `trace`, `eval_shape` and
        `clear_cache`.

    Raises:
        TypeError: `fn` is not a function, or is a generator function or an asynchronous function; or `ignore` is not a
            text or collection of texts.
        KeyReuseError: raised by the returned function on each call that would use a key twice; `problems` says where.

    Warns:
        UserWarning: the call works, but could not be checked; or a package in `ignore` is not installed.

    Based on `check_keys`. The pytest fixture of the same name is this decorator.
    """
    if fn is None:
        return functools.partial(no_key_reuse, ignore=ignore)
    if not callable(fn):
        raise TypeError(
            f"`no_key_reuse` needs a function, but got {describe(fn)}: write `@no_key_reuse` on the line above `def`, "
            "or wrap a function, as in `no_key_reuse(f)`."
        )
    if any(is_lazy(inspect.unwrap(fn)) for is_lazy in _LAZY):
        raise TypeError(
            f"`no_key_reuse` cannot check `{function_name(fn)}`, which returns before its body runs: check the "
            "functions that it calls, or a function that calls it and consumes all its values."
        )
    ignored = read_ignored("no_key_reuse", ignore)
    checked: set[Any] = set()

    @functools.wraps(fn)
    def checking(*args: Any, **kwargs: Any) -> Any:
        if compat.under_trace():
            return fn(*args, **kwargs)
        signature = _signature(fn, args, kwargs)
        if signature in checked:
            return fn(*args, **kwargs)
        log, failure = None, ""
        try:
            log = observe_keys(fn, args, kwargs)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        if log is None:
            result = fn(*args, **kwargs)  # mostly raises the same error, from the user's own code
            warnings.warn(f"The keys of `{function_name(fn)}` could not be checked ({failure}).", stacklevel=2)
            return result
        report = report_keys(log, ignored, fn, args, kwargs)
        if report:
            raise KeyReuseError(report.problems, function_name(fn))
        warn_of_unseen(log, stacklevel=2)
        if signature is not None:
            checked.add(signature)
        return fn(*args, **kwargs)

    for name in _JIT_METHODS:
        if hasattr(fn, name):
            setattr(checking, name, getattr(fn, name))
    return checking


# To ask for the class of a key takes longer than to look it up (JAX 0.10.2 to 0.12.0.1).
@functools.cache
def _is_array(leaf_type: type) -> bool:
    return issubclass(leaf_type, jax.Array | np.ndarray | np.generic)


def _signature(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return a hashable value that is equal for calls that run the same program; None if there is none."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    if hasattr(fn, "trace") and not all(map(is_traced_argument, leaves)):
        # Only JAX knows which of a jitted function's arguments are static; it keeps one jaxpr for each signature.
        with contextlib.suppress(Exception):  # the call itself raises the error
            return fn.trace(*args, **kwargs).jaxpr
    signature = structure, tuple(map(_leaf, leaves))
    try:
        hash(signature)
    except TypeError:  # one of the user's containers is not hashable: check every call
        return None
    return signature


def _leaf(leaf: Any) -> Any:
    if _is_array(leaf.__class__):
        # `jax.typeof` of a key takes longer than a small jitted function.
        return leaf.shape, leaf.dtype, bool(getattr(leaf, "weak_type", False))
    if isinstance(leaf, float | complex):
        return type(leaf)
    return type(leaf), leaf
