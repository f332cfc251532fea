"""Capture the lines that a program prints, including those that JAX prints while it runs."""

import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

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
    the block, even if the block raises, because `capture` waits for what JAX still has to print. Lines are in the order
    in which they were printed; JAX may run unordered callbacks in a different order than the code, which `ordered=True`
    prevents on one device. Inside `jax.shard_map` and `jax.pmap`, each device prints its shard, in any order: print
    `jax.lax.axis_index(axis)` too to tell them apart.

    Each thread's output is split into lines separately, so callbacks on other threads do not cut lines in two. A last
    line without a newline is kept too: `print("a", end="")` gives `['a']`. The innermost of nested captures gets the
    lines. Not captured are stderr, including warnings and logging, what a notebook displays, and what child processes
    and C libraries print.

    Yields:
        The list of lines, without newlines.

    Raises:
        TypeError: the block writes something other than text, as when printing to a terminal.

    Based on `jax.effects_barrier` and `contextlib.redirect_stdout`; like the latter, it replaces `sys.stdout` for all
    threads of the process, in a Jupyter kernel too.
    """
    lines: list[str] = []
    with flushed():
        pass  # pending prints from before the block are not captured
    with _LineStream(lines) as stream, contextlib.redirect_stdout(stream), flushed():
        yield lines


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


class _LineStream(io.TextIOBase):
    """Write to a list, line by line, and after the `with` block to the previous stream."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._begun: dict[int, str] = {}  # thread -> its unfinished line
        self._lock = threading.Lock()
        self._before: TextIO | None = sys.stdout
        self._over = False

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._lines += self._begun.values()
            self._over = True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() needs a str, not {type(text).__name__}.")
        with self._lock:
            if not self._over:
                thread = threading.get_ident()
                *ended, begun = (self._begun.pop(thread, "") + text).split("\n")
                self._lines += ended
                if begun:
                    self._begun[thread] = begun
                return len(text)
        # Something kept a reference to the stream, as logging handlers do.
        return len(text) if self._before is None else self._before.write(text)
