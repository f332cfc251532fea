"""Watch a program run equation by equation, and record where NaNs and infinities are made and masked."""

import contextlib
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.lines import Line, lines_of_equation
from jaxguide.compat.primitives import LOOPS, SCAN, WHILE
from jaxguide.debug.nan_report import BadValue, Loop
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.batched_rows import active_rows
from jaxguide.jaxpr.value_words import array_type


class NanWatch(interpret.Observer):
    """Record each value that is not finite: which equation made it, and whether it reaches the result.

    Values are identified by object identity, so that a bad value is recognized while it is passed on.
    """

    def __init__(self) -> None:
        self.reached: list[BadValue] = []
        self.masked: list[BadValue] = []
        self._made: list[BadValue] = []
        self._origins: dict[int, tuple[Any, tuple[BadValue, ...]]] = {}
        self._entered: dict[int, int] = {}
        self._ended: dict[int, Line | None] = {}
        self._lines: dict[int, tuple[Any, tuple[Line, ...]]] = {}

    def given(self, values: Sequence[Any]) -> None:
        """Register the arguments: no equation made the bad values in them."""
        self._origins.update({id(value): (value, ()) for value in values if is_bad(value)})

    def enters(self, step: interpret.BoundEquation) -> bool:
        """Look into every call and loop."""
        return True

    def before(self, step: interpret.BoundEquation) -> Sequence[Any] | None:
        """Record how many bad values there were when a call or loop began."""
        if _holds_a_program(step.eqn):
            self._entered[id(step)] = len(self._made)
        return None

    def after(self, step: interpret.BoundEquation, outputs: Sequence[Any]) -> None:
        """Record the bad values that an equation made or masked."""
        bad_out = [value for value in outputs if self._is_bad(step, value)]
        start = self._entered.pop(id(step), None)
        if not bad_out:
            if start is None and any(_is_float(value) for value in outputs):
                self._end(step)
            return
        for value in bad_out:
            if id(value) not in self._origins:
                made = self._passed_on(step, start)
                if made and start is None and _new_nan(step, value) and all(bad.kind == "written" for bad in made):
                    made = None  # the infinities in the code are intended, the NaN made from them is not
                self._origins[id(value)] = (value, (self._make(step, value),) if made is None else made)

    def finish(self, outputs: Sequence[Any]) -> None:
        """Divide the bad values into those that reach these outputs and those that were masked, in the order made."""
        reaching = [bad for v in outputs if is_bad(v) and id(v) in self._origins for bad in self._origins[id(v)][1]]
        self.reached = [bad for bad in self._made if any(bad is other for other in reaching)]
        rest = [bad for bad in self._made if not any(bad is other for other in reaching)]
        # An infinity that is written in the code and masked again is intended.
        self.masked = [bad.ended(self._ended.get(id(bad))) for bad in rest if bad.kind == "made"]

    def _is_bad(self, step: interpret.BoundEquation, value: Any) -> bool:
        if not is_bad(value):
            return False
        masks = [outer.scope.active for outer in step.outward() if outer.scope.active is not None]
        if not masks:
            return True
        # A row whose loop has ended keeps running, with values that are discarded.
        data = np.asarray(value)
        return bool((~np.isfinite(data) & active_rows(data.shape, masks)).any())

    def _passed_on(self, step: interpret.BoundEquation, start: int | None) -> tuple[BadValue, ...] | None:
        """Return the origin of the bad values that a step passes on; None if the step itself made them."""
        if start is not None:
            # A loop stacks its outputs anew, so take everything that was made inside and not masked there.
            inside = [bad for bad in self._made[start:] if id(bad) not in self._ended]
            if inside:
                return tuple(inside)
        for outer in step.outward():
            # In a loop's body, the inputs are slices of the loop's inputs.
            known = [self._origins[id(atom)][1] for atom in outer.inputs if id(atom) in self._origins]
            if known:
                return tuple(dict.fromkeys(bad for made in known for bad in made))
            if not any(is_bad(atom) for atom in outer.inputs):
                return None
        return None

    def _end(self, step: interpret.BoundEquation) -> None:
        for value in step.inputs:
            for bad in self._origins.get(id(value), (None, ()))[1]:
                self._ended.setdefault(id(bad), self._line(step))

    def _make(self, step: interpret.BoundEquation, value: Any) -> BadValue:
        data = np.asarray(value)
        masks = [outer.scope.active for outer in step.outward() if outer.scope.active is not None]
        wrong = ~np.isfinite(data) & active_rows(data.shape, masks)
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        line = self._line(step)
        bad = BadValue(
            primitive=step.eqn.primitive.name,
            made=_word(data[index]),
            line=line,
            source=line.text() if line else None,
            backward="transpose(" in "".join(str(outer.eqn.source_info.name_stack) for outer in step.outward()),
            loops=tuple(self._loops(step)),
            index=index,
            operands=tuple(_operand(atom, index, data.shape) for atom in step.inputs),
            kind="written" if any(is_bad(atom) for atom in step.inputs) and not _new_nan(step, value) else "made",
        )
        self._made.append(bad)
        return bad

    def _loops(self, step: interpret.BoundEquation) -> list[Loop]:
        """Return the loops around a step, outermost first, each with its iteration in forward order."""
        found = []
        inner = step
        for outer in list(step.outward())[1:]:
            kind = outer.eqn.primitive.name
            if kind in (SCAN, WHILE):
                count, length = inner.scope.iteration, outer.eqn.params.get("length")
                backward = outer.eqn.params.get("reverse") and length
                found.append(Loop(kind, length - 1 - count if backward else count, length, self._line(outer)))
            inner = outer
        return found[::-1]

    def _line(self, step: interpret.BoundEquation) -> Line | None:
        for outer in step.outward():
            eqn = outer.eqn
            if id(eqn) not in self._lines:
                self._lines[id(eqn)] = (eqn, lines_of_equation(eqn.source_info))
            if self._lines[id(eqn)][1]:
                return self._lines[id(eqn)][1][0]
        return None


def is_bad(value: Any) -> bool:
    """Return whether a value is a floating-point or complex array or number with a NaN or an infinity.

    >>> is_bad(jnp.array([1.0, jnp.nan])), is_bad(float("inf")), is_bad(jnp.arange(3)), is_bad("nan")
    (True, True, False, False)
    """
    return _is_float(value) and not bool(np.isfinite(np.asarray(value)).all())


def _is_float(value: Any) -> bool:
    if isinstance(value, float | complex):
        return True
    return isinstance(value, jax.Array | np.ndarray | np.generic) and bool(jnp.issubdtype(value.dtype, np.inexact))


def _has_nan(value: Any) -> bool:
    return _is_float(value) and bool(np.isnan(np.asarray(value)).any())


def _new_nan(step: interpret.BoundEquation, value: Any) -> bool:
    return _has_nan(value) and not any(map(_has_nan, step.inputs))


def _holds_a_program(eqn: Any) -> bool:
    return interpret.called_jaxpr(eqn) is not None or eqn.primitive.name in LOOPS


def _word(number: Any) -> str:
    if np.isnan(number):
        return "nan"
    return "inf" if np.real(number) > 0 or np.imag(number) > 0 else "-inf"


def _operand(value: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return an operand's element at the index of the bad one if the shapes broadcast, else its type."""
    data = value
    with contextlib.suppress(TypeError, ValueError):
        if not interpret.is_literal(value):
            data = np.asarray(value)
    if not isinstance(data, np.ndarray):
        return str(value)
    with contextlib.suppress(ValueError):
        return str(np.broadcast_to(data, shape)[index])
    return array_type(data)
