"""Hold what host functions and IO functions share: arguments are checked, and the host's own error is raised."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.arguments import require_array, require_function
from jaxguide.callbacks.checked import Checked, HostFunctionError
from jaxguide.callbacks.parameters import parameters_of
from jaxguide.callbacks.promise import describe_out, promised
from jaxguide.lines import function_name
from jaxguide.text import _


class HostCall:
    """A Python function that the JAX runtime calls on the host.

    Args:
        usage: a right call of the public function that makes it, for messages.
        fn: the function.
        out: what comes back, as in `host_function`; None for nothing unless `elementwise`.
        elementwise: `fn` works number by number and broadcasts.
    """

    def __init__(self, usage: str, fn: Callable[..., Any], out: Any, elementwise: bool = False) -> None:
        require_function(usage.partition("(")[0], fn, usage)
        self.name = function_name(fn)
        self.parameters = parameters_of(self.name, fn)
        self.elementwise = elementwise
        self._fn = fn
        self._out = out
        self._checked: dict[Any, Checked] = {}
        self._failure: HostFunctionError | None = None

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position.

        Raises:
            TypeError: the function does not take them, or they are no arrays.
        """
        bound = self.parameters.bind(args, kwargs)
        for i, arg in enumerate(bound):
            for leaf in [arg] if self.elementwise else jax.tree.leaves(arg):
                argument = self.parameters.name_of(i).strip("`")
                if isinstance(leaf, str):
                    raise TypeError(
                        _(
                            "`{name}` needs an array or a number as `{argument}` and got the str {value!r}: only "
                            "arrays go to the host, so fix it before, as in "
                            "`host_function(functools.partial({name}, {argument}={value!r}), ...)`."
                        ).format(name=self.name, argument=argument, value=leaf)
                    )
                require_array(self.name, argument, leaf)
                if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
                    raise TypeError(
                        _(
                            "`{name}` runs on the host, where PRNG keys are unknown: pass `jax.random.key_data(key)`."
                        ).format(name=self.name)
                    )
        return bound

    def promise(self, args: Sequence[Any]) -> tuple[Checked, Any]:
        """Return what the runtime is to call for these arguments, and what it promises.

        The same object comes back for the same signature, so that JAX compiles an eager call only once.
        """
        nothing = self._out is None and not self.elementwise
        out = None if nothing else promised(self.name, self._out, args, self.elementwise)
        ranks = tuple(map(jnp.ndim, jax.tree.leaves(args)))
        key = (ranks, describe_out(out), jax.tree.structure(out))
        if key not in self._checked:
            self._checked[key] = Checked(
                self._fn, self.name, out, ranks, self.elementwise, self._out is None, self._keep
            )
        return self._checked[key], out

    def run(self, call: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Call `call`; where the host's error comes back wrapped by the runtime, raise it as it was."""
        try:
            return call(*args)
        except jax.errors.JaxRuntimeError as error:
            failure, self._failure = self._failure, None
            if failure is None or str(failure) not in str(error):
                raise
            raise failure from failure.__cause__

    def _keep(self, error: HostFunctionError) -> None:
        self._failure = error
