"""Compare compiled programs: what a wrapper adds to a program must be nothing."""

import re
from collections.abc import Callable
from typing import Any

import jax


def normalised_hlo(fn: Callable[..., Any], *args: Any) -> str:
    """Return the optimised HLO of `jit(fn)` without module name, metadata and callback index.

    Nothing else is taken out, so give the two functions to compare the same parameter names.
    """
    text = jax.jit(fn).lower(*args).compile().as_text()
    header, _, rest = text.partition("\n")
    # The tables of files and stack frames that metadata points to stand before the first computation.
    computations = rest[re.search(r"^(%|ENTRY)", rest, re.MULTILINE).start() :]
    computations = re.sub(r", metadata=\{[^{}]*\}", "", computations)
    computations = re.sub(r"\{index = \d+ : ui64\}", "{index}", computations)
    return re.sub(r"^HloModule [^,]*", "HloModule", header) + "\n" + computations
