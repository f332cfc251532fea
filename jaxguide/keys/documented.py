"""Reproduce the random numbers of documents written before JAX 0.5."""

import contextlib
from collections.abc import Iterator

from jaxguide import compat
from jaxguide.jaxpr.value_words import describe


@contextlib.contextmanager
def _documented() -> Iterator[None]:
    with compat.documented_draws_setting():
        yield


def documented_draws(*given: object) -> "contextlib._GeneratorContextManager[None]":
    """Reproduce the random numbers of documents written before JAX 0.5, in a `with` block or a decorated function.

    >>> import jax
    >>> key = jax.random.key(42)
    >>> print(jax.random.normal(key))
    -0.028304616
    >>> with documented_draws():
    ...     print(jax.random.normal(key))
    -0.18471177

    JAX 0.5 changed how threefry keys are turned into numbers, so the numbers in older documents need the setting of
    that time. A jitted function that was called before is traced again inside the block, and keeps both programs. A
    draw follows the setting around its own code, also inside a traced function:

    >>> draw = jax.jit(jax.random.normal)
    >>> print(draw(key))
    -0.028304616
    >>> with documented_draws():
    ...     print(draw(key))
    -0.18471177
    >>> @jax.jit
    ... @documented_draws()
    ... def draw_as_documented(key):
    ...     return jax.random.normal(key)
    >>> print(draw_as_documented(key))
    -0.18471177

    The setting affects `split` and all samplers with threefry keys (the default), but not `fold_in`, `rbg` keys or
    arithmetic. So documented gradients can still differ in the last printed digit (since JAX 0.7). It applies to the
    current thread, and ends with the block, even if the block raises.

    Args:
        given: must be empty.

    Returns:
        A context manager, also usable as a decorator.

    Raises:
        TypeError: it got an argument, such as the function if the parentheses are missing.

    Based on `jax.threefry_partitionable(False)`. https://docs.jax.dev/en/latest/jep/9263-typed-keys.html describes the
    keys, and JAX's change log for 0.5.0 the change.
    """
    if given:
        raise TypeError(
            f"`documented_draws` takes no arguments, but got {describe(given[0])}: write it with empty parentheses, as "
            "in `@documented_draws()` or `with documented_draws():`."
        )
    return _documented()
