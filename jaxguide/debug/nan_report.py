"""Report what `find_nan` found and what to do about it, as text and as a card."""

import dataclasses
import re
from dataclasses import dataclass, field
from html import escape
from typing import Protocol

from jaxguide.base.render.prose import prose_html
from jaxguide.base.render.theme import CODE, frame
from jaxguide.base.text import _
from jaxguide.code.lines import Line


class Made(Protocol):
    """The facts about an operation that advice needs: see `jaxguide.debug.nan_report.BadValue`."""

    @property
    def primitive(self) -> str: ...
    @property
    def made(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def backward(self) -> bool: ...
    @property
    def operands(self) -> tuple[str, ...]: ...


def advice(bad: Made) -> list[str]:
    """Return one sentence on what to do, or none if nothing is certain."""
    if bad.backward:
        return _backward(bad)
    if bad.primitive in ("exp", "exp2", "expm1", "cosh", "sinh") and bad.made == "inf":
        return [
            _(
                "`{primitive}` of a large number overflows its dtype: subtract the largest value first, as "
                "`jax.nn.softmax` and `jax.nn.logsumexp` do."
            ).format(primitive=bad.primitive)
        ]
    if bad.primitive in ("log", "log1p") and bad.made == "-inf":
        return [
            _(
                "The logarithm of 0 is minus infinity: compute the logarithm directly, as `jax.nn.log_softmax` does, "
                "or keep its input above 0."
            )
        ]
    if bad.primitive in ("log", "sqrt", "rsqrt") and bad.made == "nan" and bad.operands[:1] and _is_negative(bad):
        return [
            _("`{primitive}` of a negative number is NaN: find out why its input is negative.").format(
                primitive=bad.primitive
            )
        ]
    if bad.primitive == "div" and _float(bad.operands[-1:]) == 0.0:
        return [_("It divides by 0: use another divisor, as in `x / jnp.where(y == 0, 1.0, y)`.")]
    return []


def safe_input(masked: Made) -> str:
    """Return advice on how to keep the branch that is not selected from spoiling the gradient."""
    remedy = (
        "`jnp.where(ok, x / jnp.where(ok, y, 1.0), other)`"
        if masked.primitive == "div"
        else "`jnp.where(ok, risky(jnp.where(ok, x, 1.0)), other)`"
    )
    return _(
        "`jnp.where` selects the right branch, but the other one still sends 0 * inf backward. Make the input safe "
        "before the risky operation: {remedy}."
    ).format(remedy=remedy)


def _backward(bad: Made) -> list[str]:
    found = re.search(r"\b(sqrt|norm|std|cbrt)\(", bad.source or "")
    if found and 0.0 in [_float((operand,)) for operand in bad.operands]:
        return [
            _(
                "The slope of the square root is infinite at 0, and `{name}` takes the square root of 0: keep its "
                "input above 0, as in `jnp.sqrt(s + 1e-12)`, or select a safe input with `jnp.where` first."
            ).format(name=found[1])
        ]
    return []


def _is_negative(bad: Made) -> bool:
    value = _float(bad.operands[:1])
    return value is not None and value < 0


def _float(operands: tuple[str, ...]) -> float | None:
    try:
        return float(operands[0])
    except (IndexError, ValueError):
        return None


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
            return _("iteration {i} of the while loop{where}, counted from 0").format(i=self.iteration, where=where)
        return _("iteration {i} of {n} of the scan{where}, counted from 0").format(
            i=self.iteration, n=self.length, where=where
        )


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
        kind: 'made' by the equation, 'written' in the code as a constant, or 'outside' if it came from outside JAX.
        masked_at: the line at which it was masked, if it was and the line is known.
        masked: it does not reach the result.
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
    masked: bool = False

    def on_the_way_back(self) -> "BadValue":
        """Return a copy that is part of the backward pass."""
        return dataclasses.replace(self, backward=True)

    def from_outside(self) -> "BadValue":
        """Return a copy that came from outside JAX instead of being a constant in the code."""
        return dataclasses.replace(self, kind="outside") if self.kind == "written" else self

    def ended(self, line: Line | None) -> "BadValue":
        """Return a copy that was masked at a line."""
        return dataclasses.replace(self, masked=True, masked_at=line)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """Return the description as lines: what was made and where, the loops, the operands."""
        where = str(self.line) if self.line else _("in library code")
        if self.kind == "written":
            first = _("a {made} that is a constant in the code came in at {where}")
        elif self.kind == "outside":
            first = _("a {made} that was not computed by JAX came in at {where}")
        else:
            first = _("`{primitive}` made {made} at {where}")
        said = [first.format(primitive=self.primitive, made=self.made, where=where)]
        if self.source:
            said.append(f"    {self.source}")
        said.append(_("in the backward pass") if self.backward else _("in the forward pass"))
        said += [str(loop) for loop in self.loops]
        if self.kind == "made" and self.operands:
            place = f" [{', '.join(map(str, self.index))}]" if self.index else ""
            said.append(
                _("operands at{place}: {operands}").format(place=place, operands=", ".join(self.operands))
                if place
                else _("operands: {operands}").format(operands=", ".join(self.operands))
            )
        return said


@dataclass(frozen=True, repr=False)
class NanReport:
    """What `find_nan` found.

    Args:
        found: every equation that made a NaN or infinity: first those that reach the result, then those that were
            masked, then those of the gradient, each in program order.
        bad_arguments: the names of the arguments that already contain one.
        result_is_finite: no NaN or infinity reaches the result.
        gradient_is_finite: nor the gradient; None if it was not computed, and `gradient_note` says why.
        gradient_note: 'no_floats' if there is nothing to differentiate, or the error; empty if it was computed.
        outside: a sentence on what ran in NumPy, where nothing can be watched; empty if everything ran in JAX.
    """

    found: list[BadValue] = field(default_factory=list)
    bad_arguments: list[str] = field(default_factory=list)
    result_is_finite: bool = True
    gradient_is_finite: bool | None = None
    gradient_note: str = ""
    outside: str = ""

    @property
    def first(self) -> BadValue | None:
        """Return the equation to look at first; None if there is none."""
        return self.found[0] if self.found else None

    def __bool__(self) -> bool:
        return bool(self.found or self.bad_arguments) or not self.result_is_finite

    def __str__(self) -> str:
        head, paragraphs = self._content()
        return "\n".join([head, *("\n".join(f"  {line}" for line in lines) for lines in paragraphs)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, paragraphs = self._content()
        body = "".join(f'<p style="margin:0.4em 0">{"<br>".join(map(_html, lines))}</p>' for lines in paragraphs)
        tone = "good" if not self else "bad" if not (self.result_is_finite and self.gradient_is_finite) else "partly"
        title = f'<p style="margin:0.3em 0"><strong>{escape(head)}</strong></p>'
        return f'<section style="{frame(tone)}">{title}{body}</section>'

    def _content(self) -> tuple[str, list[list[str]]]:
        paragraphs = [
            [_("The argument `{name}` already contains a NaN or an infinity.").format(name=name)]
            for name in self.bad_arguments
        ]
        forward = [bad for bad in self.found if not bad.masked and not bad.backward]
        masked = [bad for bad in self.found if bad.masked and not bad.backward]
        backward = [bad for bad in self.found if bad.backward]
        if forward:
            # Masked values may still have contributed to it, as the lower inf of inf / inf does.
            paragraphs.append([*forward[0].sentences(), *advice(forward[0])])
            masked = []
        places = {(bad.primitive, bad.line): bad for bad in reversed(masked)}
        paragraphs += [[*bad.sentences(), self._on_masked(bad)] for bad in reversed(places.values())]
        if backward:
            paragraphs.append([*backward[0].sentences(), *([] if masked else advice(backward[0]))])
        more = len(self.found) - bool(forward) - len(places) - bool(backward)
        if more:
            paragraphs.append([_("and {count} more, in `.found`").format(count=more)])
        if masked and backward:
            paragraphs.append([safe_input(masked[0])])
        if self.outside:
            paragraphs.append([self.outside])
        elif not self.result_is_finite and not paragraphs:
            paragraphs.append(
                [_("No equation made it: it is written in the code, or was computed in Python outside JAX.")]
            )
        if self.gradient_is_finite is None and self.gradient_note not in ("", "no_floats"):
            paragraphs.append([_("The gradient was not checked: {note}").format(note=self.gradient_note)])
        return self._head(), paragraphs

    def _head(self) -> str:
        if not self.result_is_finite:
            return "✗ " + _("The result contains a NaN or an infinity.")
        if self.gradient_is_finite is False:
            return "✗ " + _("The result is finite, but its gradient contains a NaN or an infinity.")
        if self.found:
            return "! " + _("The result is finite; a NaN or an infinity was made along the way.")
        if self.gradient_is_finite:
            return "✓ " + _("No NaN or infinity in the result or its gradient.")
        return "✓ " + _("No NaN or infinity in the result.")

    def _on_masked(self, bad: BadValue) -> str:
        where = (
            _("it is masked at {line}").format(line=bad.masked_at)
            if bad.masked_at
            else _("it does not reach the result")
        )
        if self.gradient_is_finite is False or any(other.backward for other in self.found):
            return _("{where}: harmless forward, dangerous for the gradient.").format(where=where)
        if self.gradient_is_finite:
            return _("{where}: harmless forward, and the gradient is finite too.").format(where=where)
        return _("{where}: harmless forward; the gradient was not checked.").format(where=where)


def _html(line: str) -> str:
    if line.startswith("    "):
        return f'<code style="{CODE}">{escape(line)}</code>'
    return prose_html(line)
