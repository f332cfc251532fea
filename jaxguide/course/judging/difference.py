"""Write where two values differ, short enough for a card."""

import dataclasses
from typing import Any

import numpy as np

from jaxguide.base.render.line_diff import line_diff
from jaxguide.course.judging.compare import Mismatch, are_lines
from jaxguide.course.judging.literals import element, shortened, show
from jaxguide.course.judging.values import ArrayData, Data

_LINE = 68  # characters on a line of a card at 80 columns, after its label


def difference_of(failure: Mismatch, got: Data, expected: Data) -> dict[str, Any]:
    """Return, as fields of `Evidence`, how two values differ: as a whole if each fits on a line, and otherwise where.

    Args:
        failure: how they were told apart.
        got, expected: the values.
    """
    found, whole = {"extent": _extent(failure)}, (show(got), show(_as_in(got, expected)))
    if _fits(whole):
        return found | {"expected": whole[1]}
    part, wanted, path = failure.part, _as_in(failure.part, failure.expected_part), failure.path
    texts = show(part), show(wanted)
    if not _fits(texts) and failure.index is not None:
        path += f"[{', '.join(map(str, failure.index))}]"
        library = "np" if part.origin == "numpy" else "jnp"
        texts = element(part.values[failure.index], library), element(wanted.values[failure.index], library)
    elif not _fits(texts):
        found["difference"] = _lines(part, wanted)
    if path != failure.path or part is not got:
        found |= {"label": shortened(path), "compared": texts[0]}
    return found | {"expected": texts[1]}


def _as_in(got: Data, expected: Data) -> Data:
    """Return an expected array as one of the library of another, since any library is right."""
    if isinstance(got, ArrayData) and isinstance(expected, ArrayData):
        return dataclasses.replace(expected, origin=got.origin)
    return expected


def _fits(texts: tuple[str, str]) -> bool:
    """Return whether each text fits on a line; strings of several lines are better compared line by line."""
    return all(len(text) <= _LINE and "\n" not in text and "\\n" not in text for text in texts)


def _lines(got: Data, expected: Data) -> str:
    if isinstance(got, str) and isinstance(expected, str):
        if "\n" in got + expected:
            return line_diff(got.split("\n"), expected.split("\n"))
        return line_diff([repr(got)], [repr(expected)])
    if are_lines(got) and are_lines(expected):
        return line_diff(got, expected)
    return ""


def _extent(failure: Mismatch) -> str:
    """Return a sentence that says how many elements of an array differ, and by how much at most."""
    close = failure.close
    if close is None or close.size < 2:
        return ""
    differ = ~close
    left, right = (np.asarray(part)[differ] for part in (failure.part, failure.expected_part))
    count = len(left)
    words = f"{count} of {close.size} elements {'differs' if count == 1 else 'differ'}"
    if left.dtype.kind not in "biufc" or right.dtype.kind not in "biufc":
        return f"{words}."
    wide = np.complex128 if "c" in (left.dtype.kind, right.dtype.kind) else np.float64
    with np.errstate(all="ignore"):  # infinity minus infinity
        by = np.abs(left.astype(wide) - right.astype(wide))
    missing = int(np.isnan(left.astype(wide)).sum())
    if missing:
        words += f", {missing} of them NaN" if missing < count else ": NaN"
    if count == 1 or not np.isfinite(by).any():
        return f"{words}."
    largest = int(np.argmax(np.where(np.isfinite(by), by, -1.0)))
    at = ", ".join(str(int(place)) for place in np.argwhere(differ)[largest])
    return f"{words}. The largest difference is {by[largest]:.3g}, at [{at}]."
