"""Drive JAX's debugger from a list of commands, where there is no terminal."""

import cmd
import contextlib
import io
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from jaxguide.base.text import _
from jaxguide.debug.captured import flushed
from jaxguide.jaxpr.arguments import describe


class Transcript:
    """What the debugger showed and what was typed, as a person at the terminal would have seen it.

    `str(transcript)` is the text, `stops` the number of breakpoints that were reached, and `unused` the commands that
    were not typed, because too few breakpoints were reached.
    """

    def __init__(self, commands: list[str]) -> None:
        self.stops = 0
        self._waiting = list(commands)
        self._text = io.StringIO()

    @property
    def unused(self) -> tuple[str, ...]:
        return tuple(self._waiting)

    def __str__(self) -> str:
        return self._text.getvalue().removesuffix("\n")

    def __repr__(self) -> str:
        return str(self)

    def write(self, text: str) -> int:
        """Append what the debugger prints."""
        return self._text.write(text)

    def type(self) -> str:
        """Return the next command, `c` where none is left, and show it as typed."""
        if self._waiting:
            line = self._waiting.pop(0)
            self.write(f"{line}\n")
            return line
        self.write(_("c  [typed by `scripted_breakpoints`: no command was left]") + "\n")
        return "c"


@contextlib.contextmanager
def scripted_breakpoints(commands: Iterable[str]) -> Iterator[Transcript]:
    r"""Answer every `jax.debug.breakpoint()` in a block from a list of commands, and keep what the debugger showed.

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

    The program stays as it is, and needs no terminal: this works in a notebook, in a test, and in a process whose input
    is closed. The commands are typed one after the other, over all breakpoints: `c` leaves one, and the next command
    goes to the next. When none is left, each further breakpoint is continued, which the transcript says. The program's
    own prints go where they always go. Of two breakpoints in one compiled program JAX may reach the second first, which
    `jax.debug.breakpoint(ordered=True)` prevents. Breakpoints that are given a debugger of their own
    (`jax.debug.breakpoint(stdin=...)`) and Python's `breakpoint()` are left alone.

    Args:
        commands: lines as one types them after `(jdb)`: `p x`, `pp x`, `u`, `d`, `w`, `l`, `c`, `help` (see
            https://docs.jax.dev/en/latest/debugging/print_breakpoint.html).

    Yields:
        A `Transcript`. It is complete after the block, also when an exception leaves it.

    Raises:
        TypeError: when `commands` is not a list of str.
        ValueError: for a command that would end the whole program, such as `q`, or that has more than one line.

    Rests on `jax.debug.breakpoint`, whose debugger is a `cmd.Cmd`.
    """
    transcript = Transcript(_checked(commands))
    with flushed():
        pass
    with _driven(transcript), flushed():
        yield transcript


@contextlib.contextmanager
def passed_breakpoints() -> Iterator[None]:
    """Let the program go on at every `jax.debug.breakpoint()` in a block, as where nobody is at the keyboard.

    >>> import jax
    >>> with passed_breakpoints():
    ...     jax.debug.breakpoint()

    Breakpoints that are given a debugger of their own (`jax.debug.breakpoint(stdin=...)`) are left alone, and so are
    those of a `scripted_breakpoints` in the block.

    Rests on `jax.debug.breakpoint`, whose debugger is a `cmd.Cmd`.
    """
    with _reached(lambda debugger, loop: None):
        yield


@contextlib.contextmanager
def _driven(transcript: Transcript) -> Iterator[None]:
    """Let the command loop of JAX's debugger read from a transcript's commands."""

    def type_commands(debugger: cmd.Cmd, loop: Callable[[], None]) -> None:
        transcript.stops += 1
        keyboard: Any = _Keyboard(transcript)
        screen: Any = _Screen(transcript, sys.stdout)
        debugger.use_rawinput, debugger.stdin, debugger.stdout = False, keyboard, screen
        with contextlib.redirect_stdout(screen):  # for expressions that print
            loop()

    with _reached(type_commands):
        yield


@contextlib.contextmanager
def _reached(at_breakpoint: Callable[[cmd.Cmd, Callable[[], None]], None]) -> Iterator[None]:
    """Hand JAX's debugger and its command loop to a function instead of running the loop at the keyboard."""
    original = cmd.Cmd.cmdloop

    def cmdloop(self: cmd.Cmd, intro: Any = None) -> None:
        own_input = not self.use_rawinput
        if own_input or not type(self).__module__.startswith("jax."):
            return original(self, intro)
        return at_breakpoint(self, lambda: original(self, intro))

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
    """Write what the debugger's thread prints to the transcript, and what others print to where it went before."""

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
    wanted = _('a list of debugger commands, such as `["p x", "c"]`')
    if isinstance(commands, str) or not isinstance(commands, Iterable):
        raise TypeError(
            _("`scripted_breakpoints` needs {wanted}, and got {got}.").format(wanted=wanted, got=describe(commands))
        )
    checked = list(commands)
    parser = cmd.Cmd(stdin=io.StringIO(), stdout=io.StringIO())
    for command in checked:
        if not isinstance(command, str):
            raise TypeError(
                _("`scripted_breakpoints` needs {wanted}, and got {got} among them.").format(
                    wanted=wanted, got=describe(command)
                )
            )
        if "\n" in command:
            raise ValueError(
                _("The command {command!r} has more than one line: give each line as a command of its own.").format(
                    command=command
                )
            )
        if parser.parseline(command)[0] in _ENDING:
            raise ValueError(
                _(
                    "The command {command!r} ends the whole program, not only the debugger: use `c`, which lets the "
                    "program go on."
                ).format(command=command)
            )
    return checked
