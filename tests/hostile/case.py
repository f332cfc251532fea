"""Define a hostile submission: one student's file, and the verdicts that it must get."""

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
        name: the submission's name; the student is called `h-` and this name.
        kind: what the submission does, such as "steals".
        content: the file; `{key!r}`, `{home!r}`, `{neighbour!r}`, `{results!r}` and `{cache!r}` in it are replaced by
            the paths that an attacker who knows them would try.
        double: the acceptable verdicts for the attacked exercise; empty if the file must be unreadable.
        total: the acceptable verdicts for the honest answer in the same file.
        suffix: the file's suffix.
        quick: whether the case is in the small selection.
        says: text in the exercise's first failure, or in the reason why the file was not read.
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
    """Return a file whose answer to `double` runs `body` when it is called; the other answer is honest."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"# %%\n{_TOOLS}\n# %%\ndef double(x):\n{lines}\n    return {finally_return}\n\n# %%\n{TOTAL}"


def at_start(code: str, double: str = DOUBLE) -> str:
    """Return a file that runs `code` in a separate cell before the answers."""
    return f"# %%\n{_TOOLS}\n# %%\n{textwrap.dedent(code).strip()}\n\n# %%\n{double}\n# %%\n{TOTAL}"
