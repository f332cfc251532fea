"""Read the facts in text made by JAX, whose wording changes from release to release."""

import math
import re
from collections.abc import Callable, Sequence

# All recorded texts are shorter, so a longer one differs from them and need not be read.
_TEXT_LIMIT = 10_000

_AVAL = r"\w+(?:<\w+>)?\[[^\]]*\]"
_DTYPES = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "c": "complex"}

# Each is tried on what the ones before it have left.
_READINGS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (rf"\bShapedArray\(({_AVAL})[^)]*\)", r"\1"),
    (rf"~(?={_AVAL})", ""),  # of a weak type
    (r"\b(b?f|i|u|c)(\d+)(?=\[)", lambda found: _DTYPES[found[1]] + found[2]),
    (rf"\bTraced<({_AVAL})>with<\w+(?:\(level=\d+/\d+\))?>", r"tracer \1"),  # before JAX 0.7
    (rf"\b\w+Tracer[(<](?:aval=)?({_AVAL})(?:, batched={_AVAL})?[)>]", r"tracer \1"),
    (rf"\bGradTracer\(primal=(?:(?!Tracer).)*?, typeof\(tangent\)=({_AVAL})\)", r"tracer \1"),
    (r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", ""),  # the module of a class
    (r"(?<=[\d.]):\w+\[\]", ""),  # the type of a literal in a jaxpr, since JAX 0.6.1
]
_OF_THE_MACHINE = re.compile(
    r"\b0x[0-9a-f]+|(?<=\bobject id )\d+|\b\w+://\S+"
    r"|(?:(?<!\w)(?:[A-Z]:)?(?:[/\\][\w.+-]+){2,}|<ipython-[^\s>]+>|\bline \d+(?=:))(?::\d+)*"
)
_WORDS = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?!\w)|\w+|[^\w\s]")


def agree(got: object, recorded: str | Sequence[str], rtol: float, *, verbatim: bool = False) -> bool:
    """Return whether a text, or each line of it, states the facts of the recorded one.

    Weak types, kinds of tracers, modules of classes and the like are wording; numbers have a tolerance. Blanks, blank
    lines and what differs from machine to machine (paths, addresses, ids of objects) never count.

    >>> agree("x = VmapTracer(aval=float32[3], batched=float32[2,3])", "x = Traced<float32[3]>with<BatchTrace>", 1e-6)
    True
    >>> agree(["x = JitTracer(~float32[])"], ["x = JitTracer(float32[])"], 1e-6, verbatim=True)
    False

    Args:
        got: the text, or its lines if lines are recorded.
        recorded: the text or the lines in the ledger.
        rtol: the tolerance of numbers.
        verbatim: whether the wording counts, too.
    """
    if isinstance(got, str) != isinstance(recorded, str) or not isinstance(got, str | Sequence):
        return False
    if len(str(got)) > _TEXT_LIMIT:
        return False
    seen, wanted = (_read(text, verbatim) for text in (got, recorded))
    return list(map(len, seen)) == list(map(len, wanted)) and all(
        _is_same(word, other, rtol)
        for line, its in zip(seen, wanted, strict=True)
        for word, other in zip(line, its, strict=True)
    )


def _read(text: str | Sequence[object], verbatim: bool) -> list[list[str]]:
    """Return the words of each line that is not blank."""
    lines = [text] if isinstance(text, str) else map(str, text)
    words = [_WORDS.findall(_OF_THE_MACHINE.sub("…", line if verbatim else facts(line))) for line in lines]
    return list(filter(None, words))


def facts(text: str) -> str:
    """Write the facts in a text in one way, whatever the JAX release that made it.

    >>> facts("got [Traced<ShapedArray(int32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>]")
    'got [tracer int32[]]'
    >>> facts("<class 'jaxlib._jax.ArrayImpl'>, add a 1.0:f32[]")
    "<class 'ArrayImpl'>, add a 1.0"
    """
    for pattern, written in _READINGS:
        text = re.sub(pattern, written, text)
    return text


def _is_same(word: str, other: str, rtol: float) -> bool:
    """Return whether two words are the same, or floats that are close."""
    if word == other or not (re.search("[.e]", word) and re.search("[.e]", other)):
        return word == other
    try:
        return math.isclose(float(word), float(other), rel_tol=rtol, abs_tol=rtol)
    except ValueError:
        return False
