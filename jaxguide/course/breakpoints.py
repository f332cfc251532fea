"""Drive JAX's debugger from a list of commands, without a terminal, and stop in it if a value is not finite."""

import cmd
import contextlib
import functools
import io
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.debug.captured import flushed
from jaxguide.jaxpr.arguments import is_array_like
from jaxguide.jaxpr.value_words import describe

# What JAX's debugger prints before each command, and at each breakpoint.
_PROMPT, _GREETING = "(jdb) ", "Entering jdb:\n"


class Transcript(io.StringIO):
    """What the debugger printed and the commands typed, as they would appear in a terminal.

    `str(transcript)` is the text, `stops` the number of breakpoints that were reached, `answers` what the debugger
    printed after each command, and `unused` the commands that were not typed because too few breakpoints were reached.
    """

    def __init__(self, commands: list[str]) -> None:
        super().__init__()
        self.stops = 0
        self._waiting = list(commands)

    @property
    def unused(self) -> tuple[str, ...]:
        return tuple(self._waiting)

    @property
    def answers(self) -> list[str]:
        parts = str(self).split(_PROMPT)[1:]
        return [part.partition("\n")[2].removesuffix(_GREETING).strip() for part in parts]

    def __str__(self) -> str:
        return self.getvalue().removesuffix("\n")

    __repr__ = __str__

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        """Return the next command, or `c` if none is left, and show it as typed."""
        if self._waiting:
            line = self._waiting.pop(0)
            self.write(f"{line}\n")
            return f"{line}\n"
        self.write("c  [typed by `scripted_breakpoints`: no command was left]\n")
        return "c\n"


@contextlib.contextmanager
def scripted_breakpoints(commands: Iterable[str]) -> Iterator[Transcript]:
    r"""Answer every `jax.debug.breakpoint()` in a block from a list of commands, and keep the debugger's output.

    >>> @jax.jit
    ... def f(x):
    ...     y, z = jnp.sin(x), jnp.cos(x)
    ...     jax.debug.breakpoint()
    ...     return y * z
    >>> with scripted_breakpoints(["p x", "p y * z", "c"]) as transcript:
    ...     product = f(2.0)
    >>> transcript
    Entering jdb:
    (jdb) p x
    Array(2., dtype=float32)
    (jdb) p y * z
    Array(-0.37840125, dtype=float32)
    (jdb) c
    >>> transcript.answers
    ['Array(2., dtype=float32)', 'Array(-0.37840125, dtype=float32)', '']

    It needs no terminal. The commands are typed in order, across all breakpoints: `c` leaves one, and the next command
    goes to the next. When the commands run out, each further breakpoint is continued, and the transcript says so. The
    program's own prints are not captured. JAX may reach the second of two breakpoints in a compiled program first;
    `jax.debug.breakpoint(ordered=True)` prevents that on one device. Inside `jax.shard_map` and `jax.pmap`, each device
    stops, in any order. Breakpoints with their own debugger (`jax.debug.breakpoint(stdin=...)`) and Python's
    `breakpoint()` are left alone.

    Args:
        commands: the lines to type after `(jdb)`: `p x`, `pp x`, `u`, `d`, `w`, `l`, `c`, `help` (see
            https://docs.jax.dev/en/latest/debugging/print_breakpoint.html).

    Yields:
        A `Transcript`. It is complete after the block, even if the block raises.

    Raises:
        TypeError: `commands` is not a list of str.
        ValueError: a command would end the whole program, such as `q`, or has more than one line.

    Based on `jax.debug.breakpoint`, whose debugger is a `cmd.Cmd`.
    """
    transcript = Transcript(_checked(commands))
    jax.effects_barrier()
    with driven(transcript), flushed():
        yield transcript


@contextlib.contextmanager
def driven(transcript: Transcript) -> Iterator[None]:
    """Let JAX's debugger read its commands from a transcript, and not from the keyboard.

    Breakpoints with their own debugger (`jax.debug.breakpoint(stdin=...)`), and those of a `scripted_breakpoints` in
    the block, are left alone.
    """
    original = cmd.Cmd.cmdloop

    def cmdloop(self: cmd.Cmd, intro: Any = None) -> None:
        own_input = not self.use_rawinput
        if own_input or not type(self).__module__.startswith("jax."):
            return original(self, intro)
        transcript.stops += 1
        self.use_rawinput, self.stdin, self.stdout = False, transcript, transcript
        with contextlib.redirect_stdout(transcript):  # for expressions that print
            return original(self, intro)

    cmd.Cmd.cmdloop = cmdloop  # type: ignore[method-assign]
    try:
        yield
    finally:
        cmd.Cmd.cmdloop = original  # type: ignore[method-assign]


def _checked(commands: Any) -> list[str]:
    found = [commands] if isinstance(commands, str) or not isinstance(commands, Iterable) else list(commands)
    wrong = [command for command in found if not isinstance(command, str)]
    if wrong or found == [commands]:
        raise TypeError(
            '`scripted_breakpoints` needs a list of debugger commands, such as `["p x", "c"]`, but got '
            f"{describe((wrong or found)[0])}."
        )
    for command in found:
        if "\n" in command:
            raise ValueError(f"The command {command!r} has more than one line: pass each line as a separate command.")
        if cmd.Cmd().parseline(command)[0] in ("q", "quit", "exit", "EOF"):
            raise ValueError(
                f"The command {command!r} ends the whole program, not only the debugger: use `c` to continue the "
                "program."
            )
    return found


def breakpoint_if_nonfinite(x: Any) -> None:
    """Open JAX's debugger if `x` contains a NaN or an infinity.

    >>> @jax.jit
    ... def f(x, y):
    ...     z = x / y
    ...     breakpoint_if_nonfinite(z)
    ...     return z
    >>> with scripted_breakpoints(["p x", "u", "u", "p z", "p y", "c"]) as transcript:
    ...     z = f(2.0, 1.0), f(2.0, 0.0)
    >>> transcript
    Entering jdb:
    (jdb) p x
    Array(inf, dtype=float32)
    ...
    (jdb) p z
    Array(inf, dtype=float32)
    (jdb) p y
    Array(0., dtype=float32)
    (jdb) c

    In the debugger, `p x` shows the value, and `u` twice goes up to the calling function. Under `vmap`, it looks at the
    rows one by one and stops at each that is not finite, with its number as `row`; the calling function cannot be
    reached from there. (The code in JAX's documentation, `lax.cond` and `breakpoint`, stops under `vmap` at every row,
    because `vmap` runs both branches of a `cond`.) With `jax.checkpoint` it may stop twice: JAX computes twice.

    Args:
        x: an array of any shape and dtype, or a pytree of them, also under `jit`, `vmap`, `grad` or `scan`. Integers,
            booleans and keys are always finite.

    Raises:
        TypeError: something in `x` is not an array.

    Based on `jax.lax.cond` and `jax.debug.breakpoint`; without `vmap`, it compiles to the same program as the
    function of this name in https://docs.jax.dev/en/latest/debugging.html.
    """
    wrong = [describe(leaf) for leaf in jax.tree.leaves(x) if not is_array_like(leaf)]
    if wrong:
        raise TypeError(f"`breakpoint_if_nonfinite` needs an array or a pytree of arrays, but got {wrong[0]}.")
    if not any(map(_is_float, jax.tree.leaves(x))):
        return
    # The debugger gets every array among the locals of this frame, so keep only these two. Branches must be no locals:
    # JAX keeps the program of a function, with these locals, while it lives, which `jax.checking_leaks` finds.
    is_finite = _is_finite(jax.lax.stop_gradient(x))
    jax.lax.cond(is_finite, lambda x: None, lambda x: jax.debug.breakpoint(), x)


@jax.custom_batching.custom_vmap
def _is_finite(x: Any) -> jax.Array:
    finite = [jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(x) if _is_float(leaf)]
    return functools.reduce(jnp.logical_and, finite)


@_is_finite.def_vmap
def _stop_at_rows(size: int, batched: Any, x: Any) -> tuple[jax.Array, bool]:
    """Stop at the bad rows of a batch, then report it as finite, so that the caller does not stop for all rows."""

    def all_rows(leaf: Any, has_rows: bool) -> Any:
        return leaf if has_rows else jnp.broadcast_to(leaf, (size, *leaf.shape))

    jax.lax.map(lambda one: _stop_at_row(*one), (jnp.arange(size), jax.tree.map(all_rows, x, batched[0])))
    return jnp.asarray(True), False


def _stop_at_row(row: jax.Array, x: Any) -> None:
    is_finite = _is_finite(x)
    # `num_frames`: outer frames have values of another trace.
    jax.lax.cond(is_finite, lambda row, x: None, lambda row, x: jax.debug.breakpoint(num_frames=1), row, x)


def _is_float(leaf: Any) -> bool:
    return bool(jax.dtypes.issubdtype(jax.dtypes.result_type(leaf), np.inexact))
