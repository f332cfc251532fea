"""Report what `find_nan` found and what to do about it, as text and as a card."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from jaxguide.base.render.prose import lines_html
from jaxguide.code.lines import Line
from jaxguide.compat import collectives
from jaxguide.compat.primitives import LINEAR_SOLVE

# Operations whose result is infinite only because it is too large for the dtype, if no operand is 0 or infinite.
_OVERFLOWING = frozenset(
    {
        *("add", "sub", "mul", "div", "add_any", "integer_pow", "pow", "square", "exp", "exp2", "expm1", "sinh"),
        *("cosh", "dot_general", "conv_general_dilated", "reduce_sum", "reduce_prod", "cumsum", "cumprod", "fft"),
        *("scatter-add", "convert_element_type", "reduce_precision", "reduce_window_sum", "reduce_scatter"),
        *collectives.SUMS,
    }
)
# Operations that make a finite number of an infinity that differs from that of a large number, or may.
_ABSORBING = frozenset({"div", "rsqrt", "integer_pow", "pow"})
SOMEWHERE = "a line in library code"
_ORIGINS = {
    "written": "as a constant in the code",
    "held": "from a `jax.Ref` that held it before",
    "outside": "not computed by JAX",
}


@dataclass(frozen=True)
class Loop:
    """A loop around an equation.

    Args:
        kind: 'scan' or 'while'.
        iteration: the iteration, counted from 0 in forward order, also in the backward pass.
        length: the number of iterations of a scan; None for a while.
        line: the user's line that called it.
    """

    kind: str
    iteration: int
    length: int | None
    line: Line | None

    def __str__(self) -> str:
        where = f" ({self.line})" if self.line else ""
        if self.length is None:
            return f"iteration {self.iteration} of the while loop{where}, counted from 0"
        return f"iteration {self.iteration} of {self.length} of the scan{where}, counted from 0"


@dataclass(frozen=True)
class BadValue:
    """An equation that made a NaN or an infinity.

    Args:
        primitive: its primitive, such as 'log'.
        made: 'nan', 'inf' or '-inf': the first element of the result that is not finite.
        line: the user's line behind it; None if there is none.
        source: the text of that line.
        backward: it belongs to the backward pass of the gradient.
        loops: the loops around it, outermost first.
        index: the index of that element in the equation's result.
        operands: each operand's element at that index as text; for an operand of another shape, its type, such as
            'float32[3,4]'.
        kind: 'made' by the equation, 'written' in the code as a constant, 'held' by a `jax.Ref` before, or 'outside' if
            it came from outside JAX.
        masked_at: the line at which it was masked, if it was and the line is known.
        masked_by: the primitive that masked it.
        masked: it does not reach the result.
        then: the operation that made a NaN of this infinity, or something infinite of the 0 that it became, if one did.
        advice: what to do about it, in a sentence; empty if nothing is certain.
        device: inside a `shard_map`, the position of the device in the mesh, such as 'data=0'; `index` and `operands`
            are those of its shard. Otherwise empty.
    """

    primitive: str
    made: str
    line: Line | None
    source: str | None
    backward: bool
    loops: tuple[Loop, ...]
    index: tuple[int, ...]
    operands: tuple[str, ...]
    kind: str = "made"
    masked_at: Line | None = None
    masked_by: str = ""
    masked: bool = False
    then: "BadValue | None" = None
    advice: str = ""
    device: str = ""
    # Until the advice is found: the running operation, and the primitives that passed its result on.
    step: Any = field(default=None, repr=False, compare=False)
    trail: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def may_be_off(self) -> bool:
        """Return whether a number too large for its dtype became finite again in arithmetic, as in 1 / inf."""
        return self.masked and self.overflows and self.masked_by in _ABSORBING

    @property
    def overflows(self) -> bool:
        """Return whether an infinity was made of finite numbers because the result is too large for its dtype."""
        exact = {"0.0", "-0.0", "0", "inf", "-inf"} & set(self.operands)  # as in 1 / 0
        return self.made != "nan" and self.primitive in _OVERFLOWING and not exact

    def changed(self, **fields: Any) -> "BadValue":
        """Return a copy with other fields."""
        return dataclasses.replace(self, **fields)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """Return the description as lines: what was made and where, the loops, the operands."""
        where, origin = self.line or SOMEWHERE, _ORIGINS.get(self.kind)
        said = [f"`{self.primitive}` made {self.made} at {where}"]
        if origin is not None:
            said = [f"{self.made} came in at {where}, {origin}"]
        said += [f"    {self.source}"] if self.source else []
        said.append("in the backward pass" if self.backward else "in the forward pass")
        said += [f"on shard {self.device}"] if self.device else []
        said += map(str, self.loops)
        if self.kind == "made" and self.operands and self.primitive != LINEAR_SOLVE:
            place = f" at [{', '.join(map(str, self.index))}]" if self.index else ""
            said.append(f"operands{place}: {', '.join(self.operands)}")
        if (then := self.then) is not None:
            operands = ", ".join(then.operands)
            said.append(f"it became {then.made} at {then.line or SOMEWHERE}: `{then.primitive}` of {operands}")
        return said


@dataclass(frozen=True, repr=False)
class NanReport:
    """What `find_nan` found.

    Args:
        found: every equation that made a NaN or infinity: first those that reach the result, then those that were
            masked, then those of the gradient, each in program order.
        bad_arguments: the names of the arguments that already contain one, such as `params['w']`.
        bad_results: the names of the leaves of the result that contain one, such as `result['w']`.
        bad_gradients: the names of the arguments whose gradient contains one.
        gradient_is_finite: no NaN or infinity reaches the gradient; None if it was not computed, and `gradient_note`
            says why.
        gradient_note: 'no_floats' if there is nothing to differentiate, or the error; empty if it was computed.
        outside: a sentence on what ran in NumPy, where nothing can be watched; empty if everything ran in JAX.
    """

    found: list[BadValue] = field(default_factory=list)
    bad_arguments: list[str] = field(default_factory=list)
    bad_results: list[str] = field(default_factory=list)
    bad_gradients: list[str] = field(default_factory=list)
    gradient_is_finite: bool | None = None
    gradient_note: str = ""
    outside: str = ""

    @property
    def result_is_finite(self) -> bool:
        """Return whether no NaN or infinity reaches the result."""
        return not self.bad_results

    @property
    def first(self) -> BadValue | None:
        """Return the equation to look at first; None if there is none."""
        return self.found[0] if self.found else None

    def __bool__(self) -> bool:
        return bool(self.found or self.bad_arguments or self.bad_results)

    def __str__(self) -> str:
        return "\n".join([self._head(), *(f"  {line}" for lines in self._paragraphs() for line in lines)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tone = "good" if not self else "bad" if not (self.result_is_finite and self.gradient_is_finite) else "partly"
        return lines_html(str(self), tone)

    def _paragraphs(self) -> list[list[str]]:
        paragraphs = [[f"The argument `{name}` already contains a NaN or an infinity."] for name in self.bad_arguments]
        forward = [bad for bad in self.found if not bad.masked and not bad.backward]
        masked = [bad for bad in self.found if bad.masked and not bad.backward]
        backward = [bad for bad in self.found if bad.backward]
        if forward:
            # Masked values may still have contributed to it, as the lower inf of inf / inf does.
            paragraphs.append([*forward[0].sentences(), forward[0].advice])
            masked = []
        places = {(bad.primitive, bad.line): bad for bad in reversed(masked)}
        paragraphs += [[*bad.sentences(), self._on_masked(bad)] for bad in reversed(places.values())]
        remedy = masked[0].advice if masked else ""
        if backward:
            paragraphs.append([*backward[0].sentences(), "" if remedy else backward[0].advice])
        more = len(self.found) - bool(forward) - len(places) - bool(backward)
        if more:
            paragraphs.append([f"and {more} more, in `.found`"])
        if remedy and (backward or self.gradient_is_finite is False or masked[0].may_be_off):
            paragraphs.append([remedy])
        if self.outside:
            paragraphs.append([self.outside])
        elif not self.result_is_finite and not paragraphs:
            paragraphs.append(
                ["No equation made it: it is written in the code, or was computed in Python outside JAX."]
            )
        if self.gradient_is_finite is None and self.gradient_note not in ("", "no_floats"):
            paragraphs.append([f"The gradient was not checked: {self.gradient_note}"])
        return [[line for line in lines if line] for lines in paragraphs]

    def _head(self) -> str:
        if not self.result_is_finite:
            where = "" if self.bad_results == ["result"] else f": {first_of(self.bad_results)}"
            return f"✗ The result contains a NaN or an infinity{where}."
        if self.gradient_is_finite is False:
            which = f"its gradient with respect to {first_of(self.bad_gradients)}"
            return f"✗ The result is finite, but {which} contains a NaN or an infinity."
        if self.found:
            return "! The result is finite; a NaN or an infinity was made along the way."
        if self.gradient_is_finite:
            return "✓ No NaN or infinity in the result or its gradient."
        return "✓ No NaN or infinity in the result."

    def _on_masked(self, bad: BadValue) -> str:
        where = f"it is masked at {bad.masked_at}" if bad.masked_at else "it does not reach the result"
        backward = self.gradient_is_finite is False or any(other.backward for other in self.found)
        if bad.may_be_off:
            off = "the result and the gradient may be off" if backward else "the result may be off"
            return f"{where}: a number beyond the dtype became finite again, so {off}."
        if backward:
            return f"{where}: harmless forward, dangerous for the gradient."
        if self.gradient_is_finite:
            return f"{where}: harmless forward, and the gradient is finite too."
        return f"{where}: harmless forward; the gradient was not checked."


def first_of(names: list[str]) -> str:
    """Name the first of several leaves.

    >>> first_of(["params['w']", "params['b']"])
    "`params['w']` (and 1 more)"
    """
    return f"`{names[0]}`" + (f" (and {len(names) - 1} more)" if len(names) > 1 else "")
