"""Share code between host functions and IO functions: check arguments, and call the host."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.callbacks.checked import Checked
from jaxguide.callbacks.parameters import parameters_of
from jaxguide.callbacks.result_spec import describe_out, promised
from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import TRANSFERS, flags_off
from jaxguide.jaxpr.arguments import require_array, require_function
from jaxguide.jaxpr.mesh_places import placed_like, require_host_calls, varying_like


class HostCall:
    """A Python function that the JAX runtime calls on the host.

    Args:
        usage: an example call of the public function that makes it, for messages.
        fn: the function.
        out: the result, as in `host_function`; None for no result unless `elementwise`.
        elementwise: `fn` works element by element and broadcasts.
    """

    def __init__(self, usage: str, fn: Callable[..., Any], out: Any, elementwise: bool = False) -> None:
        require_function(usage.partition("(")[0], fn, usage)
        self.name = function_name(fn)
        self.parameters = parameters_of(self.name, fn)
        self.elementwise = elementwise
        self._fn = fn
        self._out = out
        self._checked: dict[Any, Checked] = {}

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position.

        Raises:
            TypeError: the function does not take them, or they are not arrays.
        """
        bound = self.parameters.bind(args, kwargs)
        for i, arg in enumerate(bound):
            for leaf in [arg] if self.elementwise else jax.tree.leaves(arg):
                argument = self.parameters.name_of(i)
                if isinstance(leaf, str):
                    named = argument.startswith("`")
                    example = f"functools.partial({self.name}, {argument.strip('`')}={leaf!r})"
                    raise TypeError(
                        (
                            "`{name}` needs an array or a number as {argument}, but got the str {value!r}: only arrays "
                            "are sent to the host, so bind the str first, with {example}."
                        ).format(
                            name=self.name,
                            argument=argument,
                            value=leaf,
                            example=f"`{example}`" if named else "a function of the arrays alone",
                        )
                    )
                require_host_array(self.name, argument.strip("`"), leaf)
        return bound

    def promise(self, args: Sequence[Any]) -> tuple[Checked, Any]:
        """Return the callable that the runtime calls for these arguments, and the result that it promises.

        The same signature gives the same object, so that JAX compiles an eager call only once.
        """
        nothing = self._out is None and not self.elementwise
        out = None if nothing else promised(self.name, self._out, args, self.elementwise)
        ranks = tuple(map(jnp.ndim, jax.tree.leaves(args)))
        key = (ranks, describe_out(out), jax.tree.structure(out))
        if key not in self._checked:
            self._checked[key] = Checked(self._fn, self.name, out, ranks, self.elementwise, self._out is None)
        return self._checked[key], out

    @flags_off(*TRANSFERS)
    def on_host(self, callback: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run the function on the host through `callback`, one of JAX's callback functions.

        It waits for the result, unless that is traced; without waiting, an error would be raised later, far from the
        call. If the arguments are ready, the CPU backend runs the host function in this thread.
        """
        require_host_calls(self.name)
        checked, out = self.promise(args)
        result = jax.block_until_ready(callback(checked, out, *jax.block_until_ready(args)))
        given = jax.tree.leaves(args)
        return jax.tree.map(lambda leaf: placed_like(varying_like(leaf, given), given), result)


def require_host_array(helper: str, name: str, value: Any) -> None:
    """Raise TypeError unless `value` is an array or a number that can be sent to the host.

    >>> require_host_array("watch_value", "value", jax.random.key(0))
    Traceback (most recent call last):
    TypeError: `watch_value` runs on the host, which has no PRNG keys: pass `jax.random.key_data(key)`.
    """
    require_array(helper, name, value)
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
        raise TypeError(f"`{helper}` runs on the host, which has no PRNG keys: pass `jax.random.key_data(key)`.")
