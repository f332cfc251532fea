"""Read and write from inside a JAX program, with `io_function`."""

import functools
from collections.abc import Callable
from typing import Any

from jax.experimental import io_callback

from jaxguide.callbacks.host_call import HostCall
from jaxguide.compat import error_texts
from jaxguide.jaxpr.arguments import require_token


def io_function(fn: Callable[..., Any], *, out: Any, ordered: bool = True) -> "IOFunction":
    """Make a function with side effects, such as reading a file or drawing numbers, callable from JAX programs.

    >>> import jax, jax.numpy as jnp
    >>> log = []
    >>> note = io_function(lambda step, loss: log.append((int(step), float(loss))), out=None)
    >>> @jax.jit
    ... def train(x):
    ...     def body(step, x):
    ...         note(step, x**2)
    ...         return x / 2
    ...     return jax.lax.fori_loop(0, 3, body, x)
    >>> train(4.0).block_until_ready()
    Array(0.5, dtype=float32, weak_type=True)
    >>> log
    [(0, 16.0), (1, 4.0), (2, 1.0)]

    What JAX may do with the calls (measured on jax 0.10.2, 0.11.2 and 0.12.0.1, on CPU):

    - *Dropped*: in a loop that `jax.grad` differentiates, calls whose result is not used do not run, ordered or not; a
      call in which nothing changes from step to step runs once. Otherwise, every call runs, used or not, perhaps after
      the program has returned: wait with `jax.effects_barrier()`.
    - *Repeated*: under `jax.vmap`, which needs `ordered=False`, once for each row; once for all rows if the arguments
      are the same in each row.
    - *Reordered*: with `ordered=True`, never among ordered calls. With `ordered=False`, at any time.
    - *Refused*: `ordered=True` under `vmap`; `vmap` of a `lax.cond` or `lax.while_loop` around the call if rows
      choose differently; `jax.grad` with respect to its arguments, or of `jax.checkpoint` around it; `jax.shard_map`
      over some of the axes of its mesh.
    - *On several devices*: once for a value of a sharded `jax.jit`; inside `jax.shard_map` and `jax.pmap`, on each
      device with its shard, with `ordered=True` in order on each.

    Args:
        fn: the function. It gets its arguments as read-only NumPy arrays; arguments are arrays or pytrees of arrays.
        out: the result: a `jax.ShapeDtypeStruct`, an array like it, a pytree of them, or a function that makes one
            from the arguments' `jax.ShapeDtypeStruct`s, such as `lambda x: x`; or None for no result, and what `fn`
            returns is ignored.
        ordered: keep the order of the program. Defaults to True, which is safer; `jax.experimental.io_callback`
            defaults to False.

    Returns:
        A function of arrays; its results are checked as in `host_function`. In a block of its method `errors`, compiled
        programs raise the function's own error.

    Raises:
        TypeError: `fn` is not a function, or is called with arguments that it does not take.
        ValueError: an ordered function is called under `vmap`, or the call is differentiated.
        NotImplementedError: it is called in a `jax.shard_map` over some of the axes of its mesh.
        HostFunctionError: at run time, `fn` raised, or returned something other than promised; under `jax.jit`,
            JAX raises an error of its own with this text, except in a block of `errors`.

    Based on `jax.experimental.io_callback`; see https://docs.jax.dev/en/latest/external-callbacks.html, and for calls
    in differentiated loops https://github.com/jax-ml/jax/issues/16637.
    """
    return IOFunction(fn, out, ordered)


class IOFunction(HostCall):
    """A function with side effects that is called from JAX; made by `io_function`."""

    def __init__(self, fn: Callable[..., Any], out: Any, ordered: bool) -> None:
        super().__init__("io_function(print, out=None)", fn, out)
        self._ordered = ordered

    def _run(self, *args: Any) -> Any:
        if self._ordered:
            require_token(self.__name__)
        try:
            return self._on_host(functools.partial(io_callback, ordered=self._ordered), *args)
        except ValueError as error:
            if error_texts.ORDERED_VMAP.match(error):
                advice = "keeps its calls in order, but rows have none: make it with `io_function(..., ordered=False)`."
            elif error_texts.IO_JVP.match(error):
                advice = "has side effects and no derivative: hold its arguments constant with `jax.lax.stop_gradient`."
            else:
                raise
            raise ValueError(f"`{self.__name__}` {advice}") from error
