"""Trace a function to describe its program, given arrays or only their shapes and dtypes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.jaxpr.own_lines import with_own_lines
from jaxguide.jaxpr.stage import Staged, is_traced_argument, stage
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.jit_events import hearing


def is_traced(leaf: Any) -> bool:
    """Return whether an argument is traced: like `is_traced_argument`, but including `jax.ShapeDtypeStruct`.

    >>> is_traced(1.0), is_traced(jax.ShapeDtypeStruct((3,), "float32")), is_traced(3)
    (True, True, False)
    """
    if isinstance(leaf, np.ndarray | np.generic):
        return _is_jax_type(leaf)  # false for an array of strings, for instance
    return isinstance(leaf, jax.ShapeDtypeStruct) or is_traced_argument(leaf)


def _is_jax_type(value: Any) -> bool:
    try:
        jax.typeof(value)
    except TypeError:
        return False
    return True


@hearing()
@flags_off(*CHECKS, DISABLE_JIT)
def staged(helper: str, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Staged:
    """Trace a function, with concrete arguments if Python needs their values.

    >>> staged("program", lambda x: x if x > 0 else -x, (2.0,), {}).arguments
    ()
    >>> staged("program", jax.numpy.sin, (jax.ShapeDtypeStruct((3,), "float32"),), {}).jaxpr.in_avals
    [ShapedArray(float32[3])]

    Args:
        helper: the name of the public function that the user called.
        fn, args, kwargs: the call; see `is_traced`.

    Raises:
        TypeError: if `fn` returns anything but arrays, or needs the value of a `jax.ShapeDtypeStruct`.
        Exception: whatever `fn` raises while it is traced.
    """
    abstract = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves((args, kwargs)))

    def checked(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        wrong = next((leaf for leaf in jax.tree.leaves(result) if not _is_jax_type(leaf)), None)
        if wrong is not None:
            raise TypeError(
                f"`{helper}` needs a function that returns arrays, numbers or a pytree of them, but "
                f"`{function_name(fn)}` returned {describe(wrong)}: return only values that JAX can compute."
            )
        return result

    try:
        return _stage(checked, args, kwargs)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        if abstract and isinstance(error, jax.errors.UnexpectedTracerError):
            raise
        if abstract:
            raise TypeError(
                f"`{helper}` got a `jax.ShapeDtypeStruct`, which has no values, but Python needs the value of "
                f"an argument of `{function_name(fn)}` ({type(error).__name__}): pass arrays, such as `jnp.ones`."
            ) from error
        # Python needs an argument's value: describe the program for the given values.
        try:
            found = stage(checked, args, kwargs, concrete=True)
            return replace(found, jaxpr=with_own_lines(found.jaxpr))
        except Exception as second:
            raise second from None


def _stage(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Staged:
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    places = [i for i, leaf in enumerate(leaves) if is_traced(leaf)]

    def call(*values: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(places, values, strict=True):
            filled[i] = value
        positional, keywords = jax.tree.unflatten(structure, filled)
        return fn(*positional, **keywords)

    arguments = tuple(leaves[i] for i in places)
    jaxpr, result = jax.make_jaxpr(call, return_shape=True)(*arguments)
    return Staged(with_own_lines(jaxpr), arguments, result)
