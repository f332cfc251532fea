"""Explain an exception: find the rule that knows it, and never do harm where there is none."""

import sys

from jaxguide.arguments import describe
from jaxguide.explain import (  # noqa: F401  (each registers its rules; the first rule that fits is taken)
    arrays,
    batching,
    branches,
    conditions,
    derivatives,
    gradients,
    hosts,
    indexing,
    leaks,
    loop_gradients,
    loops,
    memory,
    numbers,
    randomness,
    shapes,
    sizes,
    statics,
    updates,
)
from jaxguide.explain.bare import explain_without_source
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import RULES
from jaxguide.explain.scene import Scene
from jaxguide.text import _


def explain(error: BaseException | None = None) -> Explanation | None:
    """Explain a JAX error: the line, what the variable is there, why it cannot work, and fixes in the student's names.

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

    In a notebook, `%load_ext jaxguide` puts it under each traceback. The exception is not changed.

    Args:
        error: the exception; by default the one being handled, else the last that Python showed.

    Returns:
        the explanation, which prints as text and shows as a card in a notebook; None for an error that is not known.

    Raises:
        TypeError: `error` is no exception.
        ValueError: there was no exception yet.
    """
    if error is None:
        error = sys.exception() or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if error is None:
            raise ValueError(_("`explain` has nothing to explain: there was no exception yet. Give it one."))
    if not isinstance(error, BaseException):
        raise TypeError(
            _(
                "`explain` needs an exception and got {got}: write `except Exception as error:` and then "
                "`explain(error)`."
            ).format(got=describe(error))
        )
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        explanation = _explain_one(error)
        if explanation is not None:
            return explanation
        error = error.__cause__  # `raise MyError(...) from error` says that the cause is the point
    return None


def _explain_one(error: BaseException) -> Explanation | None:
    if type(error).__module__.split(".")[0] == "jaxguide":  # it says what to do itself
        return None
    try:
        scene = Scene(error)
        if not scene.spots or scene.raised_by_user:
            return None
        if scene.spot.source is None or scene.spot.node is None:
            return explain_without_source(scene)
        of_jax = scene.is_of_jax()
    except Exception:  # objects of the student's may do anything when looked at
        return None
    for phrase, rule in RULES:
        found = phrase.match(error)
        if found is None or (phrase.shared and not of_jax):
            continue
        try:
            explanation = rule(scene, found)
        except Exception:  # a rule that does not understand the code has nothing to say
            continue
        if explanation is not None:
            return explanation
    return None
