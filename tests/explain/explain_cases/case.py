"""Define a failing program: its source, where and on which value it fails, and its result with each fix applied."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Precedes every program, and counts in line numbers.
HEADER = "import jax, jax.numpy as jnp, numpy as np\nfrom jax import lax\nfrom functools import partial\n"
MARK = "# <--"

# In `after_fix`: this fix says what to decide, and cannot be applied automatically.
no_edits = object()
# In `after_fix`: this fix is only a sentence, since the right code cannot be derived with certainty.
no_code = object()


@dataclass(frozen=True)
class Case:
    """A failing program, and what to expect of its explanation.

    Args:
        name: the test's name.
        kind, variable: the kind and variable that the explanation must name.
        source: the program; the line that the explanation must name ends in `MARK`.
        result: an expression to evaluate after the fixed program has run.
        after_fix: the expression's value with each fix applied, in the order of the fixes; by default one in words.
    """

    name: str
    kind: str
    variable: str
    source: str
    result: str = "result"
    after_fix: Sequence[Any] = (no_code,)

    @property
    def program(self) -> str:
        """The program with its header."""
        return HEADER + self.source.strip("\n") + "\n"

    @property
    def line(self) -> int:
        """The number of the marked line."""
        (line,) = [i for i, text in enumerate(self.program.split("\n"), 1) if text.endswith(MARK)]
        return line
