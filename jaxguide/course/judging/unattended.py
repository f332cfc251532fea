"""Run a student's code without waiting for input, so that it behaves the same with and without a keyboard."""

import builtins
import contextlib
import io
import sys
from collections.abc import Iterator

from jaxguide.course.breakpoints import Transcript, driven

END_OF_INPUT = "EOF when reading a line"


@contextlib.contextmanager
def unattended() -> Iterator[None]:
    """Continue at every breakpoint within the block, and let every request for input fail with EOFError.

    A check that waited at a breakpoint would wait forever in grading. In a notebook, students would not see the prompt,
    since checks capture the output.

    >>> with unattended():
    ...     breakpoint()
    ...     input("A number: ")
    Traceback (most recent call last):
    EOFError: EOF when reading a line

    Replaces `sys.breakpointhook`, `sys.stdin` and `builtins.input` (a Jupyter kernel's asks in the browser).
    """
    before = sys.stdin, sys.breakpointhook, builtins.input
    sys.stdin, sys.breakpointhook, builtins.input = io.StringIO(), lambda *args, **kwargs: None, _find_the_end
    try:
        with driven(Transcript([])):
            yield
    finally:
        sys.stdin, sys.breakpointhook, builtins.input = before


def _find_the_end(prompt: object = "", /) -> str:
    print(prompt, end="")
    raise EOFError(END_OF_INPUT)
