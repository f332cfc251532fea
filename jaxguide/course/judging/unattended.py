"""Run a student's code where nobody types: at a keyboard and without one it does the same."""

import builtins
import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

from jaxguide.debug.breakpoints import passed_breakpoints

END_OF_INPUT = "EOF when reading a line"


@contextlib.contextmanager
def unattended() -> Iterator[None]:
    """Let code go on at every breakpoint in a block, and give what asks for input the end of it.

    A check that waited at a breakpoint would wait for ever in grading, and show nothing in a notebook: what is printed
    while it runs, it keeps.

    >>> with unattended():
    ...     breakpoint()
    ...     input("A number: ")
    Traceback (most recent call last):
    EOFError: EOF when reading a line

    Rests on `sys.breakpointhook`, and on `builtins.input`, which a Jupyter kernel replaces to ask in the browser.
    """
    before = sys.stdin, sys.breakpointhook, builtins.input
    sys.stdin, sys.breakpointhook, builtins.input = io.StringIO(), _go_on, _find_the_end
    try:
        with passed_breakpoints():
            yield
    finally:
        sys.stdin, sys.breakpointhook, builtins.input = before


def _go_on(*args: Any, **kwargs: Any) -> None:
    """Stand for a debugger that is left at once."""


def _find_the_end(prompt: object = "", /) -> str:
    print(prompt, end="")
    raise EOFError(END_OF_INPUT)
