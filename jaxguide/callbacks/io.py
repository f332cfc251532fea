"""Read, write and watch values from inside a JAX program, with `io_function` and `watch_value`."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback

from jaxguide.callbacks.checked import call_on_host
from jaxguide.callbacks.errors import failures, host_errors
from jaxguide.callbacks.host_call import HostCall, require_host_array
from jaxguide.code.lines import function_name
from jaxguide.compat import error_texts
from jaxguide.compat.ordered_callback import ordered_callback
from jaxguide.jaxpr.arguments import require_function, require_token
from jaxguide.jaxpr.mesh_places import mapped_in_part, require_debug_callbacks


def io_function(fn: Callable[..., Any], *, out: Any, ordered: bool = True) -> "IOFunction":
    """Make a function with side effects, such as reading a file or drawing numbers, callable from JAX programs.

    >>> import jax.numpy as jnp
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

    - *Dropped*: in a loop (`lax.scan`, `lax.map`, `lax.fori_loop`) that `jax.grad` differentiates, calls whose result
      is not used do not run, ordered or not; a call in which nothing changes from step to step runs once. To prevent
      this, return a result and use it. Otherwise, every call runs, used or not. It may run after the program has
      returned: wait with `jax.effects_barrier()`.
    - *Repeated*: under `jax.vmap`, which needs `ordered=False`, once for each row; once for all rows if the arguments
      are the same in each row.
    - *Reordered*: with `ordered=True`, never among ordered calls. With `ordered=False`, at any time: of three calls in
      a row, the CPU ran the third before the second.
    - *Refused*: `ordered=True` under `vmap`; `vmap` of a `lax.cond` or `lax.while_loop` around the call if rows
      choose differently; `jax.grad` with respect to its arguments; `jax.grad` of `jax.checkpoint` around it;
      `jax.shard_map` over some of the axes of its mesh.
    - *On several devices*: once for a value of a sharded `jax.jit`, which is gathered for the call; inside
      `jax.shard_map` and `jax.pmap`, on each device with its shard, with `ordered=True` in order on each.

    Args:
        fn: the function. It gets its arguments as read-only NumPy arrays; arguments are arrays or pytrees of arrays.
        out: the result: a `jax.ShapeDtypeStruct`, an array like it, a pytree of them, or a function that makes one
            from the arguments' `jax.ShapeDtypeStruct`s, such as `lambda x: x`; or None for no result, and what `fn`
            returns is ignored.
        ordered: keep the order of the program. Defaults to True, which is safer; `jax.experimental.io_callback`
            defaults to False.

    Returns:
        A function of arrays; its results have exactly the promised shapes and dtypes, as in `host_function`.

    Raises:
        TypeError: `fn` is not a function, or is called with arguments that it does not take.
        ValueError: an ordered function is called under `vmap`, or the call is differentiated.
        NotImplementedError: it is called in a `jax.shard_map` over some of the axes of its mesh.
        HostFunctionError: at run time, `fn` raised, or returned another shape or dtype than promised; under `jax.jit`,
            JAX raises an error of its own with this text, unless the call is in `with host_errors():`.

    Based on `jax.experimental.io_callback`; see https://docs.jax.dev/en/latest/external-callbacks.html, and for calls
    in differentiated loops https://github.com/jax-ml/jax/issues/16637.
    """
    return IOFunction(fn, out, ordered)


class IOFunction:
    """A function with side effects that is called from JAX; made by `io_function`."""

    def __init__(self, fn: Callable[..., Any], out: Any, ordered: bool) -> None:
        host = HostCall("io_function(print, out=None)", fn, out)
        functools.update_wrapper(self, fn)
        self.__name__ = host.name
        self._host = host
        self._ordered = ordered

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with arrays; see `io_function`."""
        try:
            arguments = self._host.arguments(args, kwargs)
            with host_errors():
                return self._call(*arguments)
        except ValueError as error:
            if error_texts.ORDERED_VMAP.match(error):
                message = (
                    "`{name}` keeps its calls in order, but rows under `vmap` have no order: make it with "
                    "`io_function(..., ordered=False)`, or call it outside the mapped function."
                )
            elif error_texts.IO_JVP.match(error):
                message = (
                    "`{name}` has side effects and no derivative: hold its arguments constant with "
                    "`jax.lax.stop_gradient`, or use `host_function` with a derivative if it is pure."
                )
            else:
                raise
            raise ValueError(message.format(name=self._host.name)) from error

    def __repr__(self) -> str:
        return f"<IO function {self._host.name}>"

    def _call(self, *args: Any) -> Any:
        if self._ordered:
            require_token(self._host.name)
        return self._host.on_host(functools.partial(io_callback, ordered=self._ordered), args)


def watch_value(value: Any, fn: Callable[[Any], Any] = print, *, ordered: bool = False) -> Any:
    """Call `fn` with a value when the program computes it, and return the value.

    >>> import jax.numpy as jnp
    >>> seen = []
    >>> jax.grad(lambda x: jnp.sin(watch_value(x**2, seen.append)))(3.0)
    Array(-5.4667816, dtype=float32, weak_type=True)
    >>> seen
    [array(9., dtype=float32)]

    What JAX may do with the calls (measured on jax 0.10.2, 0.11.2 and 0.12.0.1, on CPU):

    - *Dropped*: in a loop that `jax.grad` differentiates, a value that is the same in each step is seen once. The call
      may run after the program has returned: wait with `jax.effects_barrier()`.
    - *Repeated*: under `jax.vmap`, once for each row (once for all if the value is the same in each row), also for
      rows that do not take this branch of a `lax.cond`, or whose `lax.while_loop` has ended; under `jax.grad` of
      `jax.checkpoint`, once more, when the value is recomputed.
    - *Reordered*: at any time, unless `ordered=True`: of three calls in a row, the CPU ran the third before the second.
    - *Refused*: in a `jax.shard_map` over some axes of its mesh, with `ordered=True` or if the others are Explicit.
      Derivatives ignore the call.

    Args:
        value: an array of any shape and dtype, or a pytree of them, but no PRNG key; `fn` gets NumPy arrays.
        fn: the function to call; what it returns is ignored. Defaults to `print`.
        ordered: keep the order of the program among ordered calls; on several devices, on each of them.

    Returns:
        `value`, unchanged.

    Raises:
        TypeError: `fn` is not a function of one argument, or `value` contains something that is not an array.
        NotImplementedError: it is refused, as above.
        HostFunctionError: at run time, `fn` raised, if the call is in `with host_errors():`; elsewhere, JAX raises an
            error of its own with this text.

    Based on `jax.debug.callback`; `jax.debug.print` formats a line. See
    https://docs.jax.dev/en/latest/external-callbacks.html.
    """
    require_function("watch_value", fn, "watch_value(x, print)")
    for leaf in jax.tree.leaves(value):
        require_host_array("watch_value", "value", leaf)
    name = function_name(fn)
    try:
        inspect.signature(fn).bind(value)
    except ValueError:  # some builtins have none
        pass
    except TypeError as error:
        raise TypeError(f"`watch_value` calls `{name}` with the value and nothing else: {error}.") from None

    def see(value: Any) -> None:
        with failures.kept():
            call_on_host(fn, name, [jax.tree.map(np.asarray, value)])

    require_debug_callbacks("watch_value")
    if ordered:
        require_token("watch_value")
    if ordered and mapped_in_part():
        raise NotImplementedError(
            "`watch_value(..., ordered=True)` is in a `jax.shard_map` over some of the axes of its mesh, where JAX "
            "keeps no order: leave out `ordered`, or map over all axes."
        )
    if ordered and jax.device_count() > 1:
        leaves, structure = jax.tree.flatten(value)
        ordered_callback(lambda *leaves: see(jax.tree.unflatten(structure, leaves)), *leaves)
    else:
        jax.debug.callback(see, value, ordered=ordered)  # in order with `jax.debug.print(..., ordered=True)` too
    return value
