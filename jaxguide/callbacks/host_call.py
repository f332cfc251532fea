"""Share code between host functions and IO functions: check arguments, and raise the host's own errors."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.base.text import _
from jaxguide.callbacks.checked import Checked, HostFunctionError
from jaxguide.callbacks.parameters import parameters_of
from jaxguide.callbacks.result_spec import describe_out, promised
from jaxguide.code.lines import function_name
from jaxguide.jaxpr.arguments import require_array, require_function


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
        self._failures = _Failures()

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
                        _(
                            "`{name}` needs an array or a number as {argument}, but got the str {value!r}: only arrays "
                            "are sent to the host, so bind the str first, with {example}."
                        ).format(
                            name=self.name,
                            argument=argument,
                            value=leaf,
                            example=f"`{example}`" if named else _("a function of the arrays alone"),
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
            self._checked[key] = Checked(
                self._fn, self.name, out, ranks, self.elementwise, self._out is None, self._failures.keep
            )
        return self._checked[key], out

    def run(self, call: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Call `call`, which calls `on_host`; if the runtime wraps an error of the host, raise the original."""
        with self._failures.expected():
            try:
                return call(*args)
            # The runtime wraps errors as `JaxRuntimeError`, or as ValueError in a program that has run before (0.10.2
            # to 0.12.0.1).
            except (jax.errors.JaxRuntimeError, ValueError) as error:
                failure = self._failures.take(str(error))
                if failure is None:
                    raise
                raise failure from failure.__cause__

    def on_host(self, callback: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run the function on the host through `callback`, one of JAX's callback functions.

        It waits for the result, unless that is traced; without waiting, an error would be raised later, far from the
        call. If the arguments are ready, the CPU backend runs the host function in this thread.
        """
        checked, out = self.promise(args)
        return jax.block_until_ready(callback(checked, out, *jax.block_until_ready(args)))


def require_host_array(helper: str, name: str, value: Any) -> None:
    """Raise TypeError unless `value` is an array or a number that can be sent to the host.

    >>> require_host_array("watch_value", "value", jax.random.key(0))
    Traceback (most recent call last):
    TypeError: `watch_value` runs on the host, which has no PRNG keys: pass `jax.random.key_data(key)`.
    """
    require_array(helper, name, value)
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
        raise TypeError(
            _("`{name}` runs on the host, which has no PRNG keys: pass `jax.random.key_data(key)`.").format(name=helper)
        )


class _Failures:
    """Keep the host's errors while calls wait for them, because the runtime passes on only their text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._kept: list[tuple[int, HostFunctionError]] = []

    @contextmanager
    def expected(self) -> Iterator[None]:
        """Keep errors while any thread is in the block."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                if not self._calls:
                    self._kept.clear()

    def keep(self, error: HostFunctionError) -> None:
        """Keep an error of the host, with the thread in which it was raised."""
        with self._lock:
            if self._calls:
                self._kept.append((threading.get_ident(), error))

    def take(self, text: str) -> HostFunctionError | None:
        """Return the error whose message is in `text`: preferably this thread's own, else the latest."""
        with self._lock:
            found = [kept for kept in self._kept if str(kept[1]) in text]
            if not found:
                return None
            kept = next((kept for kept in reversed(found) if kept[0] == threading.get_ident()), found[-1])
            self._kept.remove(kept)
            return kept[1]
