"""Trace a function to describe its program, given arrays or only their shapes and dtypes."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxguide.code.frames import is_library
from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.compat.rule_lines import lines_of_rules
from jaxguide.jaxpr.stage import Staged, is_jax_type, stage
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.jit_events import hearing


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
        fn, args, kwargs: the call; see `traced_leaves` for which arguments become tracers.

    Raises:
        TypeError: if `fn` returns anything but arrays, or needs the value of a `jax.ShapeDtypeStruct`.
        Exception: whatever `fn` raises while it is traced.
    """
    leaves = jax.tree.leaves((args, kwargs))
    abstract = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    given = set(map(id, leaves))

    @functools.wraps(fn)
    def checked(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        foreign = (leaf for leaf in jax.tree.leaves(result) if not is_jax_type(leaf))
        wrong = next((leaf for leaf in foreign if id(leaf) not in given), None)
        if wrong is not None:
            raise TypeError(
                f"`{helper}` needs a function that returns arrays, numbers or a pytree of them, but "
                f"`{function_name(fn)}` returned {describe(wrong)}: return only values that JAX can compute."
            )
        return result

    try:
        with lines_of_rules(is_library):
            found = stage(checked, args, kwargs)
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
            with lines_of_rules(is_library):
                found = stage(checked, args, kwargs, concrete=True)
        except Exception as second:
            raise second from None
    return found
