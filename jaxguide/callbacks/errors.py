"""Raise the errors of host functions themselves, of which the JAX runtime passes on only the text."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import jax


class HostFunctionError(jax.errors.JaxRuntimeError):  # type: ignore[misc]  # JAX gives it no type
    """Raised if a host function raises, or returns something other than what was promised.

    Eager calls raise it directly, and so do traced programs (`jax.jit`, a loop, `jax.checkpoint`) in `host_errors()`.
    Elsewhere, a traced program raises JAX's own error, with this sentence as the last line of its message:
    `jax.errors.JaxRuntimeError`, or ValueError if the program has run before (JAX 0.10.2 to 0.12.0.1).
    """


@contextmanager
def host_errors() -> Iterator[None]:
    """Raise a host function's error as `HostFunctionError` in programs compiled by `jax.jit`, too.

    >>> import numpy as np
    >>> from jaxguide.callbacks import HostFunctionError, host_errors, host_function
    >>> def logged(x):
    ...     if (x <= 0).any():
    ...         raise ArithmeticError("not positive")
    ...     return np.log(x)
    >>> step = jax.jit(host_function(logged, elementwise=True))
    >>> with host_errors():
    ...     print(step(1.0).block_until_ready())
    0.0
    >>> try:
    ...     with host_errors():
    ...         step(-1.0).block_until_ready()
    ... except HostFunctionError as error:
    ...     print(repr(error.__cause__))
    ArithmeticError('not positive')

    JAX may raise the error only where the result is waited for, so call `jax.block_until_ready` in the block.

    Raises:
        HostFunctionError: a function of `host_function`, `io_function` or `watch_value` failed while the block ran; its
            cause is what the function raised, with its traceback.

    It stands for `jax.errors.JaxRuntimeError`, which carries only the text; see
    https://docs.jax.dev/en/latest/external-callbacks.html.
    """
    with failures.expected():
        try:
            yield
        # JaxRuntimeError, or ValueError in a program that has run before (0.10.2 to 0.12.0.1).
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            failure = failures.take(str(error))
            if failure is None or failure is error:
                raise
            raise failure from failure.__cause__


class _Failures:
    """The errors of host functions that somebody waits for."""

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

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep an error of the host that leaves the block, with the thread in which it was raised."""
        try:
            yield
        except HostFunctionError as error:
            with self._lock:
                if self._calls:
                    self._kept.append((threading.get_ident(), error))
            raise

    def take(self, text: str) -> HostFunctionError | None:
        """Return the error whose message is in `text`: preferably this thread's own, else the latest."""
        with self._lock:
            found = [kept for kept in self._kept if str(kept[1]) in text]
            if not found:
                return None
            kept = next((kept for kept in reversed(found) if kept[0] == threading.get_ident()), found[-1])
            self._kept.remove(kept)
            return kept[1]


failures = _Failures()
