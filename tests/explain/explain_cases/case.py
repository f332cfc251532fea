"""One failure of a student's: the program, where it fails and at what, and what comes out once a fix is applied."""

from dataclasses import dataclass
from typing import Any

# Before every program; the numbers of lines count it.
HEADER = "import jax, jax.numpy as jnp, numpy as np\nfrom jax import lax\nfrom functools import partial\n"
MARK = "# <--"

# In `after_fix`: this fix says what to decide, and cannot be applied by a program.
no_edits = object()
# And this one is a sentence alone: the right code cannot be derived surely.
no_code = object()


@dataclass(frozen=True)
class Case:
    """A program that fails.

    Args:
        name: what the test is called.
        kind, variable: what the explanation should say.
        source: the program; the line that the explanation should name ends in MARK.
        result: an expression to look at once the program runs.
        after_fix: its value with each fix applied, in the order of the fixes.
    """

    name: str
    kind: str
    variable: str
    source: str
    result: str
    after_fix: list[Any]

    @property
    def program(self) -> str:
        """The program with its header."""
        return HEADER + self.source.strip("\n") + "\n"

    @property
    def line(self) -> int:
        """The number of the marked line."""
        (line,) = [i for i, text in enumerate(self.program.split("\n"), 1) if text.endswith(MARK)]
        return line
