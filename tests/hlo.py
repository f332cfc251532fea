"""Compare compiled programs, to test that a wrapper adds nothing to a program."""

import re
from collections.abc import Callable
from typing import Any

import jax


def normalised_hlo(fn: Callable[..., Any], *args: Any) -> str:
    """Return the optimised HLO of `jit(fn)` without module name, metadata or callback index.

    Nothing else is removed, so the two functions to compare need the same parameter names.
    """
    text = jax.jit(fn).lower(*args).compile().as_text() or ""
    header, _, rest = text.partition("\n")
    # The tables of files and stack frames that metadata refers to come before the first computation.
    first = re.search(r"^(%|ENTRY)", rest, re.MULTILINE)
    assert first is not None
    computations = rest[first.start() :]
    computations = re.sub(r", metadata=\{[^{}]*\}", "", computations)
    computations = re.sub(r"\{index = \d+ : ui64\}", "{index}", computations)
    return re.sub(r"^HloModule [^,]*", "HloModule", header) + "\n" + computations
