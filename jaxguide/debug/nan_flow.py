"""Say what the operands of a running equation were computed from, as text that patterns can match."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxguide import compat
from jaxguide.compat import collectives
from jaxguide.compat.primitives import COND, CONVERT, LOOPS, MOVES, SCAN, STOP_GRADIENT, WHILE
from jaxguide.jaxpr import interpret

# Operations that pass each value on, perhaps to another place.
_PASSING = MOVES | {"transpose", "slice", STOP_GRADIENT, "optimization_barrier", "reduce_precision", "real"}
_TRANSPARENT = _PASSING | collectives.CASTS
_DEPTH = 7


class _Frame:
    """A jaxpr and the call through which it is reached: the outer values that it gets, where they are known."""

    def __init__(self, jaxpr: Any, outer: "_Frame | None" = None, given: list[Any] | None = None) -> None:
        self.outer = outer
        self.makers = {variable: eqn for eqn in jaxpr.eqns for variable in eqn.outvars}
        variables = getattr(jaxpr, "invars", ())  # a function that is not traced has none
        self.given = dict(zip(variables, given or [None] * len(variables), strict=True))
        self.calls: dict[int, _Frame] = {}


class ValueFlow:
    """What a running equation depends on.

    Args:
        step: the equation.
    """

    def __init__(self, step: interpret.BoundEquation) -> None:
        self.step = step
        self.frame = _frame_of(step.scope)
        self._names: dict[tuple[int, Any], str] = {}

    @property
    def text(self) -> str:
        """Return the equation and what its operands come from, such as 'exp(v0) / reduce_sum(exp(v0))'."""
        if self.step.eqn.primitive.name == "div":
            return " / ".join(self._value(self.frame, atom, _DEPTH - 1) for atom in self.step.eqn.invars)
        return self._equation(self.frame, self.step.eqn, _DEPTH)

    def behind(self, operand: int) -> Iterator[Any]:
        """Yield the equations that an operand depends on, nearest first."""
        waiting = [(self.frame, self.step.eqn.invars[operand])]
        seen: set[int] = set()
        while waiting and len(seen) < 300:
            frame, _atom, eqn = _source(*waiting.pop(0))
            if eqn is not None and id(eqn) not in seen:
                seen.add(id(eqn))
                yield eqn
                waiting += [(frame, atom) for atom in eqn.invars]

    def _equation(self, frame: _Frame, eqn: Any, depth: int) -> str:
        name, inputs = eqn.primitive.name, [self._value(frame, atom, depth - 1) for atom in eqn.invars]
        if name == "integer_pow":
            inputs.append(str(eqn.params["y"]))
        if inputs[1:] == ["2"] or (name in ("mul", "dot_general") and inputs[0] == inputs[1]):
            return f"reduce_sum(square({inputs[0]}))" if name == "dot_general" else f"square({inputs[0]})"
        return f"{'bool' if name == CONVERT else name}({', '.join(inputs)})"

    def _value(self, frame: _Frame, atom: Any, depth: int) -> str:
        frame, atom, eqn = _source(frame, atom)
        if interpret.is_literal(atom):
            return f"{float(atom.val):g}" if np.ndim(atom.val) == 0 and np.isrealobj(atom.val) else "array"
        if eqn is None or not depth or eqn.primitive.name in LOOPS:
            return self._names.setdefault((id(frame), atom), f"v{len(self._names)}")
        return self._equation(frame, eqn, depth)


def _frame_of(scope: interpret.Scope) -> _Frame:
    if scope.caller is None:
        return _Frame(scope.jaxpr)
    outer = _frame_of(scope.caller.scope)
    return _Frame(scope.jaxpr, outer, _given(scope.caller.eqn, scope.jaxpr))


def _given(eqn: Any, jaxpr: Any) -> list[Any]:
    """Return the atoms that an equation gives to a jaxpr that it runs; None for what a loop carries."""
    if eqn.primitive.name == COND:
        return list(eqn.invars[1:])
    if eqn.primitive.name == SCAN:
        consts, carried = interpret.scan_split(eqn)
        return [*eqn.invars[:consts], *[None] * carried, *eqn.invars[consts + carried :]]
    if eqn.primitive.name == WHILE:
        return [None] * len(jaxpr.invars)
    return list(eqn.invars)


def _source(frame: _Frame, atom: Any) -> tuple[_Frame, Any, Any]:
    """Return what makes a value, before operations that only pass it on: the frame, the atom and the equation."""
    while not interpret.is_literal(atom):
        eqn = frame.makers.get(atom)
        if eqn is None:
            outside = frame.given.get(atom)
            if outside is None or frame.outer is None:
                return frame, atom, None
            frame, atom = frame.outer, outside
            continue
        name = eqn.primitive.name
        inner = interpret.inner_jaxprs(eqn)[0] if name in collectives.SHARD_MAPS else interpret.called_jaxpr(eqn)
        if inner is not None:
            body = compat.jaxpr_parts(inner)[0]
            place = eqn.outvars.index(atom)
            frame = frame.calls.setdefault(id(eqn), _Frame(body, frame, list(eqn.invars)))
            atom = body.outvars[place]
        elif name in _TRANSPARENT and not (name == CONVERT and eqn.invars[0].aval.dtype == bool):
            atom = eqn.invars[0]
        else:
            return frame, atom, eqn
    return frame, atom, None
