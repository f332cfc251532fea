"""Explain an exception on request: the public `explain`."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxguide.explain.explanation import Explanation


def explain(error: BaseException | None = None) -> "Explanation | None":
    """Explain a JAX error: the line, what the variable is there, why it fails, and fixes in the student's names.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> @jax.jit
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     else:
    ...         y = -x
    ...     return y
    >>> try:
    ...     f(1.0)
    ... except jax.errors.TracerBoolConversionError as error:
    ...     explanation = explain(error)
    >>> explanation.kind, explanation.variable
    ('if_on_tracer', 'x')
    >>> print(explanation.what)
    `x` is a traced float32[] here, inside `jax.jit` of `f`.
    >>> print(explanation.fixes[0].code)
    y = jnp.where(x > 0, x, -x)

    In a notebook, `%load_ext jaxguide` shows it below each traceback. The exception is not changed.

    Args:
        error: the exception; by default the one being handled, or else the last one that Python showed.

    Returns:
        the explanation, which prints as text and shows as a card in a notebook; None for an unknown error, which is
        also reported if `error` was not given.

    Raises:
        TypeError: if `error` is not an exception.
        ValueError: if there was no exception yet.
    """
    asked = error is None
    if error is None:
        error = sys.exception() or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if error is None:
            raise ValueError("`explain` has nothing to explain: there was no exception yet. Give it one.")
    if not isinstance(error, BaseException):
        from jaxguide.jaxpr.value_words import describe

        raise TypeError(
            f"`explain` needs an exception and got {describe(error)}: write `except Exception as error:` and then "
            "`explain(error)`."
        )
    # The rules are loaded at the first error, so that importing this module is cheap.
    from jaxguide.explain.knowledge import error_behind, explain_one

    first, seen = error, set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        explanation = explain_one(error)
        if explanation is not None:
            return explanation
        error = error_behind(error)
    if asked:  # the user expects an answer, and None shows nothing
        name = type(first).__name__
        print(f"No explanation for this {name}: it is not a JAX error that jaxguide knows.")
    return None
