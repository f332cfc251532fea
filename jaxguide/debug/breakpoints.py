"""Drive JAX's debugger from a list of commands, without a terminal."""

import cmd
import contextlib
import io
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from jaxguide.debug.captured import flushed
from jaxguide.jaxpr.value_words import describe

# What JAX's debugger prints before each command, and at each breakpoint.
_PROMPT, _GREETING = "(jdb) ", "Entering jdb:\n"


class Transcript:
    """What the debugger printed and the commands typed, as they would appear in a terminal.

    `str(transcript)` is the text, `stops` the number of breakpoints that were reached, `answers` what the debugger
    printed after each command, and `unused` the commands that were not typed because too few breakpoints were reached.
    """

    def __init__(self, commands: list[str]) -> None:
        self.stops = 0
        self._waiting = list(commands)
        self._text = io.StringIO()

    @property
    def unused(self) -> tuple[str, ...]:
        return tuple(self._waiting)

    @property
    def answers(self) -> list[str]:
        parts = self._text.getvalue().removesuffix("\n").split(_PROMPT)[1:]
        return [part.partition("\n")[2].removesuffix(_GREETING).strip() for part in parts]

    def __str__(self) -> str:
        return self._text.getvalue().removesuffix("\n")

    def __repr__(self) -> str:
        return str(self)

    def write(self, text: str) -> int:
        """Append output of the debugger."""
        return self._text.write(text)

    def type(self) -> str:
        """Return the next command, or `c` if none is left, and show it as typed."""
        if self._waiting:
            line = self._waiting.pop(0)
            self.write(f"{line}\n")
            return line
        self.write("c  [typed by `scripted_breakpoints`: no command was left]" + "\n")
        return "c"


@contextlib.contextmanager
def scripted_breakpoints(commands: Iterable[str]) -> Iterator[Transcript]:
    r"""Answer every `jax.debug.breakpoint()` in a block from a list of commands, and keep the debugger's output.

    >>> import jax
    >>> import jax.numpy as jnp
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

    The program needs no changes and no terminal: this works in a notebook, in a test, and in a process whose input is
    closed. The commands are typed in order, across all breakpoints: `c` leaves one, and the next command goes to the
    next. When the commands run out, each further breakpoint is continued, and the transcript says so. The program's own
    prints are not captured. JAX may reach the second of two breakpoints in a compiled program first;
    `jax.debug.breakpoint(ordered=True)` prevents that on one device. Inside `jax.shard_map` and `jax.pmap`, each device
    stops, one after the other, in any order, and `p x` shows its shard. Breakpoints with their own debugger
    (`jax.debug.breakpoint(stdin=...)`) and Python's `breakpoint()` are left alone.

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
    with flushed():
        pass
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
        keyboard: Any = _Keyboard(transcript)
        screen: Any = _Screen(transcript, sys.stdout)
        self.use_rawinput, self.stdin, self.stdout = False, keyboard, screen
        with contextlib.redirect_stdout(screen):  # for expressions that print
            return original(self, intro)

    cmd.Cmd.cmdloop = cmdloop  # type: ignore[method-assign]
    try:
        yield
    finally:
        cmd.Cmd.cmdloop = original  # type: ignore[method-assign]


class _Keyboard(io.TextIOBase):
    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        return self._transcript.type() + "\n"


class _Screen(io.TextIOBase):
    """Write output of the debugger's thread to the transcript, and that of other threads to the previous stream."""

    def __init__(self, transcript: Transcript, before: TextIO | None) -> None:
        self._transcript = transcript
        self._before = before
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread:
            return self._transcript.write(text)
        return len(text) if self._before is None else self._before.write(text)


_ENDING = {"q", "quit", "exit", "EOF"}


def _checked(commands: Any) -> list[str]:
    wanted = 'a list of debugger commands, such as `["p x", "c"]`'
    if isinstance(commands, str) or not isinstance(commands, Iterable):
        raise TypeError(f"`scripted_breakpoints` needs {wanted}, but got {describe(commands)}.")
    checked = list(commands)
    parser = cmd.Cmd(stdin=io.StringIO(), stdout=io.StringIO())
    for command in checked:
        if not isinstance(command, str):
            raise TypeError(f"`scripted_breakpoints` needs {wanted}, but one of them is {describe(command)}.")
        if "\n" in command:
            raise ValueError(f"The command {command!r} has more than one line: pass each line as a separate command.")
        if parser.parseline(command)[0] in _ENDING:
            raise ValueError(
                f"The command {command!r} ends the whole program, not only the debugger: use `c` to continue the "
                "program."
            )
    return checked
