"""Watch a program run equation by equation, and record where NaNs and infinities are made and masked."""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.code.lines import Line, lines_of_equation
from jaxguide.compat import collectives
from jaxguide.compat.primitives import ADD_UPDATE, ELEMENTWISE, NEW_REF, SCAN, SWAP, WHILE
from jaxguide.debug.nan_advice import advice
from jaxguide.debug.nan_case import NanCase, makers_of_zero
from jaxguide.debug.nan_flow import ValueFlow, carried_floats
from jaxguide.debug.nan_refs import READS, RefOrigins, is_ref
from jaxguide.debug.nan_report import BadValue, Loop
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.batched_rows import active_rows
from jaxguide.jaxpr.mesh_places import shard_label
from jaxguide.jaxpr.value_words import array_type

# Whether errors in rules of advice are raised; tests set it, users are better off without the advice.
advice_may_raise = False
_MOST_ELEMENTS = 100  # of a value that are looked at to find one that reaches the result


class NanWatch(interpret.Observer):
    """Record each value that is not finite: which equation made it, and whether it reaches the result.

    Values are identified by object identity, so that a bad value is recognized while it is passed on.
    """

    def __init__(self) -> None:
        self.reached: list[BadValue] = []
        self.masked: list[BadValue] = []
        self.differentiates = False  # whether something bad was made for a derivative
        self._made: list[BadValue] = []
        self._origins: dict[int, tuple[Any, tuple[BadValue, ...]]] = {}
        self._entered: dict[int, int] = {}
        self._ended: dict[int, tuple[Line | None, str]] = {}
        self._lines: dict[int, tuple[Any, tuple[Line, ...]]] = {}
        self._then: dict[int, BadValue] = {}
        self._kept: dict[int, Any] = {}
        self._places: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._carried: dict[int, tuple[Any, list[tuple[float, ...]]]] = {}
        self._refs = RefOrigins()
        self._arguments: list[Any] = []  # those that are Refs
        self._undone: list[BadValue] = []  # kept alive, because values are known by their ids

    def given(self, values: Sequence[Any]) -> None:
        """Register the arguments: no equation made the bad values in them."""
        self._origins.update({id(value): (value, ()) for value in values if is_bad(value)})
        self._arguments = list(filter(is_ref, values))

    def enters(self, step: interpret.BoundEquation) -> bool:
        """Look into every call and loop."""
        return True

    def unseen(self, step: interpret.BoundEquation) -> None:
        """Forget what was made in the part of a `shard_map` that could be looked into."""
        start = self._entered[id(step)]
        self._undone += self._made[start:]
        del self._made[start:]

    def before(self, step: interpret.BoundEquation) -> Sequence[Any] | None:
        """Record how many bad values there were when a call or loop began, and how large what a loop carries is."""
        self._measure(step)
        self._refs.before(step)
        if interpret.can_enter(step.eqn) or step.eqn.primitive.name in collectives.SHARD_MAPS:
            self._entered[id(step)] = len(self._made)
        return None

    def after(self, step: interpret.BoundEquation, outputs: Sequence[Any]) -> None:
        """Record the bad values that an equation made or masked."""
        bad_out = [value for value in outputs if self._wrong(step, value).any()]
        start = self._entered.pop(id(step), None)
        is_swap = step.eqn.primitive.name == SWAP  # it keeps the value
        if not bad_out and start is None and not is_swap and any(_is_float(value) for value in outputs):
            self._end(step)
        for value in bad_out:
            if id(value) not in self._origins:
                self._origins[id(value)] = (value, self._origin(step, value, start))
        self._write(step, outputs)

    def _write(self, step: interpret.BoundEquation, outputs: Sequence[Any]) -> None:
        """Record what a step wrote to a Ref."""
        name = step.eqn.primitive.name
        ref: Any = outputs[0] if name == NEW_REF else step.inputs[0] if name in (SWAP, ADD_UPDATE) else None
        if not is_ref(ref):
            return
        value = step.inputs[name != NEW_REF]
        wrong = self._wrong(step, value)
        if name == ADD_UPDATE:
            where = self._refs.added(step)
        else:
            where = wrong if name == NEW_REF or not wrong.any() else self._refs.elements(step)
        if not where.any():
            return
        known = self._origins[id(value)][1] if id(value) in self._origins else self._passed_on(step, None)
        if not wrong.any():  # the sum became too large
            known, value, wrong = None, ref[...], where
        self._refs.written(ref, (self._make(step, value, wrong),) if known is None else known, where)

    def _read(self, step: interpret.BoundEquation, value: Any, wrong: np.ndarray) -> tuple[BadValue, ...]:
        """Return what made the bad elements that were read from a Ref."""
        ref, found = step.inputs[0], None
        with contextlib.suppress(Exception):  # it reads the elements as something else
            found = self._refs.origin(self._refs.labels(step)[wrong].tolist())
        if found or (found == () and any(ref is other for other in self._arguments)):
            return found
        return (self._make(step, value, wrong),)

    def advised(self, bad: BadValue) -> BadValue:
        """Return a copy with advice, and without what was kept to find it."""
        if bad.step is None:
            return dataclasses.replace(bad, then=bad.then and dataclasses.replace(bad.then, step=None))
        try:
            flow = ValueFlow(bad.step) if _is_traced(bad.step) else None
            bad = bad if bad.masked or id(bad.step) not in self._places else self._taken(bad, flow)
            found = advice(NanCase(bad, flow, self._carried))
        except Exception:  # a rule does not understand the program
            if advice_may_raise:
                raise
            found = ""
        then = bad.then and dataclasses.replace(bad.then, step=None)
        return dataclasses.replace(bad, advice=found, step=None, then=then)

    def _taken(self, bad: BadValue, flow: ValueFlow | None) -> BadValue:
        """Return a copy that shows the first element that no `jnp.where` drops, if there is one."""
        value, wrong = self._places[id(bad.step)]
        for index in np.argwhere(wrong)[:_MOST_ELEMENTS]:
            shown = dataclasses.replace(bad, **_element(bad.step, value, tuple(map(int, index))))
            if NanCase(shown, flow, self._carried).select_that_drops_it() is None:
                return shown
        return bad

    def _measure(self, step: interpret.BoundEquation) -> None:
        """Record the largest magnitudes of what a loop carries when an iteration begins."""
        loop, scope = step.scope.caller, step.scope
        if loop is None or loop.eqn.primitive.name not in (SCAN, WHILE) or step.eqn is not scope.jaxpr.eqns[0]:
            return
        if loop.eqn.primitive.name == WHILE and scope.jaxpr is not compat.jaxpr_parts(loop.eqn.params["body_jaxpr"])[0]:
            return
        values = [np.asarray(scope.read(one)) for one in carried_floats(loop.eqn)]
        sizes = self._carried.setdefault(id(loop), (loop, []))[1]
        sizes.append(tuple(float(np.abs(value).max()) if value.size else 0.0 for value in values))

    def _origin(self, step: interpret.BoundEquation, value: Any, start: int | None) -> tuple[BadValue, ...]:
        """Return what made the bad elements of a value: this step, earlier ones, or both."""
        wrong = self._wrong(step, value)
        if step.eqn.primitive.name in READS and is_ref(step.inputs[0]):
            return self._read(step, value, wrong)
        passed_on = self._passed_on(step, start)
        if passed_on is None:
            return (self._make(step, value, wrong),)
        if start is not None:
            return passed_on
        fresh = wrong & _unexplained(step, wrong)
        if fresh.any():
            return (*passed_on, self._make(step, value, fresh))
        nans = wrong & np.isnan(np.asarray(value)) & _without_nan(step, wrong)
        if nans.any():
            # Infinities in the code and in the arguments are intended, the NaN made from them is not.
            if all(bad.kind == "written" for bad in passed_on):
                return (*passed_on, self._make(step, value, nans))
            for bad in passed_on:
                # Of several infinities of this shape, only some are where the NaN is.
                _value, places = self._places.get(id(bad.step), (None, nans))
                if id(bad) not in self._then and (places.shape != nans.shape or (places & nans).any()):
                    self._then[id(bad)] = self._describe(step, value, nans)
        return passed_on

    def finish(self, outputs: Sequence[Any]) -> None:
        """Divide the bad values into those that reach these outputs and those that were masked, in the order made."""
        reaching = [bad for v in outputs if is_bad(v) and id(v) in self._origins for bad in self._origins[id(v)][1]]
        reached = [self._whole(bad) for bad in self._made if any(bad is other for other in reaching)]
        # An infinity that is written in the code is intended, unless nothing else explains the result.
        self.reached = [bad for bad in reached if bad.kind != "written"] or reached
        rest = [bad for bad in self._made if not any(bad is other for other in reaching)]
        made = [bad for bad in rest if bad.kind == "made"]
        self.masked = [self._whole(bad).ended(*self._ended.get(id(bad), (None, ""))) for bad in made]
        with contextlib.suppress(Exception) if not advice_may_raise else contextlib.nullcontext():
            self._lead_back()

    def _lead_back(self) -> None:
        """Put first the overflow that became the 0 from which the first bad value was made, as 1 / inf does."""
        hidden = {id(bad.step.eqn): bad for bad in reversed(self.masked) if bad.may_be_off and bad.step is not None}
        first = self.reached[0] if self.reached else None
        if first is None or first.step is None or not hidden or not _is_traced(first.step):
            return
        case = NanCase(first, ValueFlow(first.step), self._carried)
        found = [hidden[id(maker.eqn)] for maker in makers_of_zero(case) if id(maker.eqn) in hidden]
        if found:
            self.masked = [bad for bad in self.masked if bad is not found[-1]]
            again = dataclasses.replace(found[-1], masked=False, masked_at=None, masked_by="", then=first)
            self.reached.insert(0, again)

    def _whole(self, bad: BadValue) -> BadValue:
        """Return a copy with the NaN that an infinity became."""
        return dataclasses.replace(bad, then=self._then.get(id(bad)))

    def _wrong(self, step: interpret.BoundEquation, value: Any) -> np.ndarray:
        """Return which elements are not finite, without the rows whose loop has ended.

        Such a row keeps running, with values that are discarded.
        """
        if not is_bad(value):
            return np.zeros((), bool)
        data = np.asarray(value)
        masks = [outer.scope.active for outer in step.outward() if outer.scope.active is not None]
        return cast(np.ndarray, ~np.isfinite(data) & active_rows(data.shape, masks))

    def _passed_on(self, step: interpret.BoundEquation, start: int | None) -> tuple[BadValue, ...] | None:
        """Return the origin of the bad values that a step passes on; None if the step itself made them."""
        if start is not None:
            # A loop stacks its outputs anew, so take everything that was made inside and not masked there.
            inside = [bad for bad in self._made[start:] if id(bad) not in self._ended]
            here = [bad for bad in inside if bad.device == self._device(step)]
            if inside:
                return tuple(here or inside)
            held = [bad for ref in filter(is_ref, step.inputs) for bad in self._refs.held(ref)]
            if held:
                return tuple(held)
        for outer in step.outward():
            # In a loop's body, the inputs are slices of the loop's inputs.
            values = _operands(outer)
            known = [self._origins[id(atom)][1] for atom in values if id(atom) in self._origins]
            if known:
                return tuple(dict.fromkeys(bad for made in known for bad in made))
            if not any(is_bad(atom) for atom in values):
                break
        # What was masked at one place, or on one device, went on from another.
        return None if start is None else tuple(self._made[start:]) or None

    def _end(self, step: interpret.BoundEquation) -> None:
        for value in _operands(step):
            for bad in self._origins.get(id(value), (None, ()))[1]:
                self._ended.setdefault(id(bad), (self._line(step), step.eqn.primitive.name))

    def _make(self, step: interpret.BoundEquation, value: Any, wrong: np.ndarray) -> BadValue:
        bad = self._describe(step, value, wrong)
        self._made.append(bad)
        if bad.step is not None:
            self._places[id(bad.step)] = (np.asarray(value), wrong)
        return bad

    def _describe(self, step: interpret.BoundEquation, value: Any, wrong: np.ndarray) -> BadValue:
        data = np.asarray(value)
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        line = self._line(step)
        new = _unexplained(step, wrong)[index] or (np.isnan(data[index]) and _without_nan(step, wrong)[index])
        stack = "".join(str(outer.eqn.source_info.name_stack) for outer in step.outward())
        self.differentiates = self.differentiates or "jvp(" in stack
        # The first step of each equation is kept for its advice; those of later iterations would only cost memory.
        keep = id(step.eqn) not in self._kept
        self._kept[id(step.eqn)] = step.eqn
        kind = "made" if new or not any(is_bad(atom) for atom in _operands(step)) else "written"
        return BadValue(
            primitive=step.eqn.primitive.name,
            line=line,
            source=line.text() if line else None,
            backward="transpose(" in stack,
            loops=tuple(self._loops(step)),
            **_element(step, data, index),
            kind="held" if kind == "made" and step.eqn.primitive.name in READS else kind,
            device=self._device(step),
            step=step if keep else None,
        )

    @staticmethod
    def _device(step: interpret.BoundEquation) -> str:
        """Return the position of the device that runs a step, such as 'data=0'; empty outside of a `shard_map`."""
        shards = step.scope.shards
        return "" if shards is None or step.device is None else shard_label(shards.devices()[step.device].items())

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


def _is_traced(step: interpret.BoundEquation) -> bool:
    return hasattr(list(step.outward())[-1].scope.jaxpr, "invars")


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


def _unexplained(step: interpret.BoundEquation, wrong: np.ndarray) -> np.ndarray:
    """Return at which elements of an elementwise operation no operand is bad; nowhere for other operations."""
    if step.eqn.primitive.name not in ELEMENTWISE:
        return np.zeros(wrong.shape, bool)
    return ~_anywhere([~np.isfinite(data) for data in _floats(step)], wrong.shape)


def _without_nan(step: interpret.BoundEquation, wrong: np.ndarray) -> np.ndarray:
    """Return at which elements no operand has a NaN; for operations that are not elementwise, everywhere or nowhere."""
    nans = [np.isnan(data) for data in _floats(step)]
    if step.eqn.primitive.name not in ELEMENTWISE:
        return np.full(wrong.shape, not any(nan.any() for nan in nans))
    return ~_anywhere(nans, wrong.shape)


def _anywhere(masks: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(shape, bool)
    for mask in masks:
        found |= np.broadcast_to(mask, shape)
    return found


def _operands(step: interpret.BoundEquation) -> list[Any]:
    """Return what the result depends on: the inputs, or those of all devices for a collective."""
    if step.peers is None or not collectives.is_collective(step.eqn):
        return step.inputs
    return [value for peer in step.peers for value in peer.inputs]


def _floats(step: interpret.BoundEquation) -> list[np.ndarray]:
    return [np.asarray(atom) for atom in _operands(step) if _is_float(atom)]


def _word(number: Any) -> str:
    if np.isnan(number):
        return "nan"
    return "inf" if np.real(number) > 0 or np.imag(number) > 0 else "-inf"


def _element(step: interpret.BoundEquation, data: np.ndarray, index: tuple[int, ...]) -> dict[str, Any]:
    """Return those fields of a `BadValue` that say which element it shows."""
    operands = tuple(_operand(atom, index, data.shape) for atom in step.inputs)
    return {"made": _word(data[index]), "index": index, "operands": operands}


def _operand(value: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return an operand's element at the index of the bad one if the shapes broadcast, else its type."""
    if is_ref(value):
        return array_type(value)
    data = value
    with contextlib.suppress(TypeError, ValueError):
        if not interpret.is_literal(value):
            data = np.asarray(value)
    if not isinstance(data, np.ndarray):
        return str(value)
    with contextlib.suppress(ValueError):
        return str(np.broadcast_to(data, shape)[index])
    return array_type(data)
