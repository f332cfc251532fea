"""Capture the lines that a program prints, including those that JAX prints while it runs."""

import contextlib
import io
import threading
from collections.abc import Iterator
from typing import Any

import jax


@contextlib.contextmanager
def capture() -> Iterator[list[str]]:
    r"""Collect the lines printed in a `with` block by `print`, `jax.debug.print` and prints in `jax.debug.callback`.

    >>> import jax.numpy as jnp
    >>> @jax.jit
    ... def f(x):
    ...     print("tracing")
    ...     jax.debug.print("x = {}", x)
    ...     return jnp.sin(x)
    >>> with capture() as lines:
    ...     y = f(2.0)
    ...     print("called")
    ...     z = f(3.0)
    >>> lines
    ['tracing', 'x = 2.0', 'called', 'x = 3.0']

    The list grows line by line; before reading it inside the block, call `jax.effects_barrier()`. It is complete after
    the block, even if the block raises. JAX may run unordered callbacks in a different order than the code, which
    `ordered=True` prevents on one device. Lines of other threads and devices are captured too, whole and in any order;
    stderr, logging and what child processes print are not. The innermost of nested captures gets the lines.

    Yields:
        The list of lines, without newlines.

    Based on `jax.effects_barrier` and `contextlib.redirect_stdout`; like the latter, it replaces `sys.stdout` for all
    threads of the process, in a Jupyter kernel too.
    """
    jax.effects_barrier()  # what is still to be printed from before the block is not captured
    lines: list[str] = []
    begun: dict[int, str] = {}  # thread -> its unfinished line

    def write(text: str) -> int:
        thread = threading.get_ident()
        *ended, begun[thread] = (begun.get(thread, "") + text).split("\n")
        lines.extend(ended)
        return len(text)

    stream: Any = io.TextIOBase()
    stream.write = write
    try:
        with contextlib.redirect_stdout(stream), flushed():
            yield lines
    finally:
        lines += filter(None, begun.values())


@contextlib.contextmanager
def flushed() -> Iterator[None]:
    """Wait for JAX's callbacks at the end of a block; its exceptions take precedence over those of callbacks.

    >>> with flushed():
    ...     jax.debug.print("done")
    done
    """
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            jax.effects_barrier()
        raise
    jax.effects_barrier()
