"""Capture the lines that a program prints, with those that JAX prints while it runs."""

import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

import jax

from jaxguide.base.text import _


@contextlib.contextmanager
def capture() -> Iterator[list[str]]:
    r"""Collect the lines printed in a `with` block: by `print`, `jax.debug.print` and prints in `jax.debug.callback`.

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

    The list is there from the beginning and grows line by line; before reading it inside the block, call
    `jax.effects_barrier()`. It is complete after the block, also when an exception leaves it: what JAX still has to
    print is waited for. The order is the one in which the lines were printed; JAX may run unordered callbacks in
    another order than they are written, which `ordered=True` prevents.

    A line is what one thread wrote up to a newline, so that callbacks on other threads do not cut lines in two. A last
    line without a newline is kept too: `print("a", end="")` gives `['a']`. Of nested captures the innermost gets the
    lines. Not captured: stderr, and so warnings and logging; what a notebook displays; what child processes and
    libraries in C print.

    Yields:
        The lines without their newlines.

    Raises:
        TypeError: where the block prints something that is not text, as `print` to a terminal would.

    Rests on `jax.effects_barrier` and `contextlib.redirect_stdout`; as that does, it replaces `sys.stdout` for all
    threads of the process, in a Jupyter kernel too.
    """
    lines: list[str] = []
    with flushed():
        pass  # what ran before the block prints where it belongs
    with _LineStream(lines) as stream, contextlib.redirect_stdout(stream), flushed():
        yield lines


@contextlib.contextmanager
def flushed() -> Iterator[None]:
    """Wait at the end of a block for JAX's callbacks; an exception of the block goes before one of a callback.

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
    """Put what is written into a list, line by line, and after its `with` block into the stream that was there."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._begun: dict[int, str] = {}  # thread -> the line that it has begun
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
            raise TypeError(_("write() needs a str, not {type}.").format(type=type(text).__name__))
        with self._lock:
            if not self._over:
                thread = threading.get_ident()
                *ended, begun = (self._begun.pop(thread, "") + text).split("\n")
                self._lines += ended
                if begun:
                    self._begun[thread] = begun
                return len(text)
        # Somebody kept the stream, as a logging handler does.
        return len(text) if self._before is None else self._before.write(text)
