"""What a hostile submission is: a file of one student's, and what must come of it."""

import dataclasses
import textwrap
from collections.abc import Callable

DOUBLE = "def double(x):\n    return 2 * x\n"
TOTAL = "def total(x):\n    return x.sum()\n"
HONEST = f"# %%\n{DOUBLE}\n# %%\n{TOTAL}"
_TOOLS = """\
import atexit, builtins, ctypes, gc, glob, mmap, os, re, resource, signal, socket, subprocess, sys, threading, time
import jax
import jax.numpy as jnp
import numpy as np
"""


@dataclasses.dataclass(frozen=True)
class Case:
    """One hostile submission.

    Args:
        name: also its student's, after 'h-', unless `file` says otherwise.
        kind: what it does, in the words of the table.
        content: the file; `{key}`, `{home}`, `{neighbour}`, `{results}` and `{cache}` in it become places that an
            attacker who knows everything would try.
        double: verdicts of the exercise that is attacked, each right; none where nothing of the file can be graded.
        total: verdicts of the honest answer beside it.
        suffix: of the file.
        quick: in the small selection.
        says: what the exercise's first failure, or why the file was not read, tells.
    """

    name: str
    kind: str
    content: str | Callable[[], bytes]
    double: tuple[str, ...] = ()
    total: tuple[str, ...] = ("passed",)
    suffix: str = ".py"
    quick: bool = False
    says: str = ""

    @property
    def student(self) -> str:
        return f"h-{self.name}"


def in_call(body: str, finally_return: str = "2 * x") -> str:
    """Return a file whose answer to `double` does this when it is called; the other answer is honest."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"# %%\n{_TOOLS}\n# %%\ndef double(x):\n{lines}\n    return {finally_return}\n\n# %%\n{TOTAL}"


def at_start(code: str, double: str = DOUBLE) -> str:
    """Return a file that does this in a cell of its own, before the answers."""
    return f"# %%\n{_TOOLS}\n# %%\n{textwrap.dedent(code).strip()}\n\n# %%\n{double}\n# %%\n{TOTAL}"
