"""Draw the random numbers that documents written before JAX 0.5 show."""

import contextlib
from types import TracebackType

from jaxguide import compat
from jaxguide.base.text import _
from jaxguide.jaxpr.arguments import describe


class _DocumentedDraws(contextlib.ContextDecorator):
    """The setting, entered as often as one likes, also within itself."""

    def __init__(self) -> None:
        self._entered: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        setting = compat.documented_draws_setting()
        setting.__enter__()
        self._entered.append(setting)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return self._entered.pop().__exit__(kind, error, traceback)


def documented_draws(*given: object) -> contextlib.ContextDecorator:
    """Give the random numbers that documents written before JAX 0.5 show, for a `with` block or a decorated function.

    JAX 0.5 changed how threefry keys are turned into numbers, so an older document's number comes out only with the
    setting of that time:

    >>> import jax
    >>> key = jax.random.key(42)
    >>> print(jax.random.normal(key))
    -0.028304616
    >>> with documented_draws():
    ...     print(jax.random.normal(key))
    -0.18471177

    A function that was jitted and called before is traced again inside, and keeps both programs. Draws follow the
    setting where they are written, also inside a function that is traced:

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

    It changes what threefry keys (the default) give, from `split` and from every sampler; `fold_in`, `rbg` keys and
    arithmetic stay as they are. So documented gradients can still differ in the last printed digit (since JAX 0.7). The
    setting belongs to the thread, and ends with the block also when that raises.

    Args:
        given: nothing.

    Returns:
        A context manager, which is a decorator too; one object may be entered again and again.

    Raises:
        TypeError: it was given something.

    Rests on `jax.threefry_partitionable(False)`; https://docs.jax.dev/en/latest/jep/9263-typed-keys.html describes the
    keys, JAX's change log under 0.5.0 the change.
    """
    if given:
        raise TypeError(
            _(
                "`documented_draws` takes no arguments and got {got}: write it with empty parentheses, as in "
                "`@documented_draws()` or `with documented_draws():`."
            ).format(got=describe(given[0]))
        )
    return _DocumentedDraws()
