"""Watch a program run equation by equation, and record where NaNs and infinities are made and masked."""

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.lines import Line, lines_of_equation
from jaxguide.compat import collectives
from jaxguide.compat.primitives import ADD_UPDATE, ELEMENTWISE, FREEZE, GET, NEW_REF, SCAN, SELECT, SWAP, WHILE
from jaxguide.debug.nan_report import BadValue, Loop
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.batched_rows import active_rows
from jaxguide.jaxpr.mesh_places import shard_label
from jaxguide.jaxpr.value_words import array_type

_READS = frozenset({GET, SWAP, FREEZE})


@dataclass(eq=False)
class _Made:
    """A value that is not finite, which a step made, and what became of it.

    Args:
        bad, value, wrong: what is reported of it, the array, and which of its elements are bad.
        trail: the primitives that passed it on.
        transposed: whether one of them belongs to a backward pass.
        then: the NaN that an infinity became.
        taken: the index of an element that `jnp.where` takes.
        ended: the step that masked it first.
    """

    bad: BadValue
    value: np.ndarray
    wrong: np.ndarray
    trail: list[str] = field(default_factory=list)
    transposed: bool = False
    then: BadValue | None = None
    taken: tuple[int, ...] | None = None
    ended: interpret.BoundEquation | None = None


Makers = tuple[_Made, ...]


class NanWatch(interpret.Observer):
    """Record each value that is not finite: which equation made it, and whether it reaches the result.

    Values are identified by object identity, so that a bad value is recognized while it is passed on.

    Args:
        arguments: no equation made the bad values in them.
        values: what `values_of` returns for the program.
        inside: whether to look inside of loops although there are such values.
    """

    def __init__(self, arguments: Sequence[Any] = (), values: Sequence[Any] | None = None, *, inside: bool = True):
        self.reached: list[BadValue] = []
        self.masked: list[BadValue] = []
        self.differentiates = False  # whether something bad was made for a derivative
        self.skipped = False  # whether a loop was not looked into
        self._values = None if values is None else iter(values)
        self._inside = inside
        self._made: list[_Made] = []
        self._origins: dict[int, tuple[Any, Makers]] = {id(x): (x, ()) for x in arguments if is_bad(x)}
        self._entered: dict[int, int] = {}
        self._kept: set[tuple[int, ...]] = set()
        self._held: dict[int, tuple[Any, Makers]] = {}  # by the id of a Ref: what made the bad values that are in it
        self._arguments = list(filter(is_ref, arguments))
        self._undone: list[_Made] = []  # kept alive, because values are known by their ids

    def unseen(self, step: interpret.BoundEquation) -> None:
        """Forget what was made in the part of a `shard_map` that could be looked into."""
        start = self._entered[id(step)]
        self._undone += self._made[start:]
        del self._made[start:]

    def before(self, step: interpret.BoundEquation) -> Sequence[Any] | None:
        """Record how many bad values there were when a call or loop began, and give what was computed already."""
        enters = interpret.can_enter(step.eqn) or step.eqn.primitive.name in collectives.SHARD_MAPS
        if enters:
            self._entered[id(step)] = len(self._made)
        if self._values is None or any(interpret.called_jaxpr(outer.eqn) is None for outer in _around(step)):
            return None
        if interpret.called_jaxpr(step.eqn) is not None:
            return None
        outputs = [next(self._values) for _ in step.eqn.outvars]
        self.skipped |= enters
        return None if enters and self._inside else outputs

    def after(self, step: interpret.BoundEquation, outputs: Sequence[Any]) -> None:
        """Record the bad values that an equation made or masked."""
        bad_out = [value for value in outputs if self._wrong(step, value).any()]
        start = self._entered.pop(id(step), None)
        name = step.eqn.primitive.name
        if name == SELECT:
            self._select(step)
        if not bad_out and start is None and name != SWAP and any(is_float(value) for value in outputs):
            for made in self._known(operands(step)) or ():  # a `swap` keeps the value
                made.ended = made.ended or step
        for value in bad_out:
            if id(value) not in self._origins:
                self._origins[id(value)] = (value, self._origin(step, value, start))
        self._write(step, outputs)

    def finish(self, outputs: Sequence[Any]) -> None:
        """Divide the bad values into those that reach these outputs and those that were masked, in the order made."""
        reaching = self._known([value for value in outputs if is_bad(value)]) or ()
        for made in self._made:
            trail = *made.trail, *(["transpose"] if made.transposed else [])
            bad = made.bad.changed(then=made.then, trail=trail)
            if made.taken is not None and bad.step is not None:  # an element that no `jnp.where` drops
                bad = bad.changed(**_element(bad.step, made.value, made.taken))
            if made in reaching:
                self.reached.append(bad)
            elif bad.kind == "made":
                line, primitive = (_line(made.ended), made.ended.eqn.primitive.name) if made.ended else (None, "")
                self.masked.append(bad.changed(masked=True, masked_at=line, masked_by=primitive))
        # An infinity that is written in the code is intended, unless nothing else explains the result.
        self.reached = [bad for bad in self.reached if bad.kind != "written"] or self.reached

    def _select(self, step: interpret.BoundEquation) -> None:
        """Show, of the values that `jnp.where` selects from, an element that it takes."""
        which, *values = map(np.asarray, step.inputs)
        for number, value in enumerate(step.inputs[1:]):
            taken = np.broadcast_to(which == number, values[number].shape)
            for made in self._known([value]) or ():
                if made.wrong.shape == taken.shape and not taken[made.bad.index] and (made.wrong & taken).any():
                    made.taken = _first(made.wrong & taken)

    def _write(self, step: interpret.BoundEquation, outputs: Sequence[Any]) -> None:
        """Record what a step wrote to a Ref."""
        name = step.eqn.primitive.name
        ref: Any = outputs[0] if name == NEW_REF else step.inputs[0] if name in (SWAP, ADD_UPDATE) else None
        if not is_ref(ref):
            return
        value = step.inputs[name != NEW_REF]
        whole = name != ADD_UPDATE and np.shape(value) == ref.shape
        before = () if whole else self._held.get(id(ref), (ref, ()))[1]
        made: Makers = ()
        if self._wrong(step, value).any():
            made = self._known([value]) or self._passed_on(step, None) or ()
        elif name == ADD_UPDATE and not before and is_bad(ref[...]):  # the sum became too large
            made = (self._make(step, ref[...], ~np.isfinite(np.asarray(ref[...]))),)
        self._held[id(ref)] = (ref, (*before, *made))

    def _read(self, step: interpret.BoundEquation, value: Any, wrong: np.ndarray) -> Makers:
        """Return what made the bad elements that were read from a Ref, or this step if several lines wrote some."""
        ref = step.inputs[0]
        held = self._held.get(id(ref), (ref, ()))[1]
        lines = {(made.bad.primitive, made.bad.line) for made in held}
        if len(lines) == 1 or (not lines and any(ref is other for other in self._arguments)):
            return held
        return (self._make(step, value, wrong),)

    def _origin(self, step: interpret.BoundEquation, value: Any, start: int | None) -> Makers:
        """Return what made the bad elements of a value: this step, earlier ones, or both."""
        wrong = self._wrong(step, value)
        if step.eqn.primitive.name in _READS and is_ref(step.inputs[0]):
            return self._read(step, value, wrong)
        passed_on = self._passed_on(step, start)
        if passed_on is None:
            return (self._make(step, value, wrong),)
        if start is not None:
            return passed_on
        below = self._known(step.inputs[1:]) or () if step.eqn.primitive.name == "div" else ()
        for made in passed_on:
            made.transposed |= "transpose(" in _stack(step)
            made.trail.append("divisor" if made in below else step.eqn.primitive.name)
        fresh = wrong & _without(_is_not_finite, step, wrong)
        if fresh.any():
            return (*passed_on, self._make(step, value, fresh))
        nans = wrong & np.isnan(np.asarray(value)) & _without(np.isnan, step, wrong)
        if nans.any():
            # Infinities in the code and in the arguments are intended, the NaN made from them is not.
            if all(made.bad.kind == "written" for made in passed_on):
                return (*passed_on, self._make(step, value, nans))
            for made in passed_on:
                # Of several infinities of this shape, only some are where the NaN is.
                if made.then is None and (made.wrong.shape != nans.shape or (made.wrong & nans).any()):
                    made.then = self._describe(step, value, nans)
        return passed_on

    def _wrong(self, step: interpret.BoundEquation, value: Any) -> np.ndarray:
        """Return which elements are not finite, without the rows whose loop has ended.

        Such a row keeps running, with values that are discarded.
        """
        if not is_bad(value):
            return np.zeros((), bool)
        data = np.asarray(value)
        masks = [outer.scope.active for outer in step.outward() if outer.scope.active is not None]
        return cast(np.ndarray, ~np.isfinite(data) & active_rows(data.shape, masks))

    def _known(self, values: Sequence[Any]) -> Makers | None:
        """Return what made the bad elements of these values; None if that is known of none of them."""
        known = [self._origins[id(value)][1] for value in values if id(value) in self._origins]
        return tuple(dict.fromkeys(made for makers in known for made in makers)) if known else None

    def _passed_on(self, step: interpret.BoundEquation, start: int | None) -> Makers | None:
        """Return the origin of the bad values that a step passes on; None if the step itself made them."""
        if start is not None:
            # A loop stacks its outputs anew, so take everything that was made inside and not masked there.
            inside = [made for made in self._made[start:] if made.ended is None]
            here = [made for made in inside if made.bad.device == _device(step)]
            held = [made for ref in filter(is_ref, step.inputs) for made in self._held.get(id(ref), (ref, ()))[1]]
            if inside or held:
                return tuple(here or inside or held)
        for outer in step.outward():
            # In a loop's body, the inputs are slices of the loop's inputs.
            values = operands(outer)
            known = self._known(values)
            if known is not None:
                return known
            if not any(is_bad(atom) for atom in values):
                break
        # What was masked at one place, or on one device, went on from another.
        return None if start is None else tuple(self._made[start:]) or None

    def _make(self, step: interpret.BoundEquation, value: Any, wrong: np.ndarray) -> _Made:
        bad = self._describe(step, value, wrong)
        # The first step of each equation is kept for its advice; those of later iterations would only cost memory.
        path = tuple(id(outer.eqn) for outer in step.outward())
        if path not in self._kept:
            self._kept.add(path)
            bad = bad.changed(step=step)
        self._made.append(_Made(bad, np.asarray(value), wrong))
        return self._made[-1]

    def _describe(self, step: interpret.BoundEquation, value: Any, wrong: np.ndarray) -> BadValue:
        data, index, line = np.asarray(value), _first(wrong), _line(step)
        new = _without(_is_not_finite, step, wrong) | (np.isnan(data) & _without(np.isnan, step, wrong))
        kind = "made" if new[index] else "written"
        stack = _stack(step)
        self.differentiates |= "jvp(" in stack
        return BadValue(
            primitive=step.eqn.primitive.name,
            line=line,
            source=line.text() if line else None,
            backward="transpose(" in stack,
            loops=tuple(_loops(step)),
            **_element(step, data, index),
            kind="held" if kind == "made" and step.eqn.primitive.name in _READS else kind,
            device=_device(step),
        )


def _around(step: interpret.BoundEquation) -> list[interpret.BoundEquation]:
    return list(step.outward())[1:]


def _stack(step: interpret.BoundEquation) -> str:
    return "".join(str(outer.eqn.source_info.name_stack) for outer in step.outward())


def _loops(step: interpret.BoundEquation) -> list[Loop]:
    """Return the loops around a step, outermost first, each with its iteration in forward order."""
    found = []
    for inner, outer in itertools.pairwise(step.outward()):
        kind = outer.eqn.primitive.name
        if kind in (SCAN, WHILE):
            count, length = inner.scope.iteration, outer.eqn.params.get("length")
            backward = outer.eqn.params.get("reverse") and length
            found.append(Loop(kind, length - 1 - count if backward else count, length, _line(outer)))
    return found[::-1]


def _line(step: interpret.BoundEquation) -> Line | None:
    lines = (line for outer in step.outward() for line in lines_of_equation(outer.eqn.source_info))
    return next(lines, None)


def is_bad(value: Any) -> bool:
    """Return whether a value is a floating-point or complex array or number with a NaN or an infinity.

    >>> is_bad(jnp.array([1.0, jnp.nan])), is_bad(float("inf")), is_bad(jnp.arange(3)), is_bad("nan")
    (True, True, False, False)
    """
    return is_float(value) and not bool(np.isfinite(np.asarray(value)).all())


def is_float(value: Any) -> bool:
    """Return whether a value is a floating-point or complex array or number.

    >>> is_float(1.5), is_float(jnp.ones(2)), is_float(3), is_float(jax.random.key(0))
    (True, True, False, False)
    """
    if isinstance(value, float | complex):
        return True
    return isinstance(value, jax.Array | np.ndarray | np.generic) and bool(jnp.issubdtype(value.dtype, np.inexact))


def is_ref(value: Any) -> bool:
    """Return whether a value is a Ref of floating-point or complex numbers."""
    return isinstance(value, jax.Ref) and jax.dtypes.issubdtype(value.dtype, np.inexact)


def is_real(value: Any) -> bool:
    """Return whether a value is a floating-point array or number.

    >>> is_real(1.5), is_real(1j), is_real(3)
    (True, False, False)
    """
    return is_float(value) and not jnp.iscomplexobj(value)


def operands(step: interpret.BoundEquation) -> list[Any]:
    """Return what the result depends on: the inputs, or those of all devices for a collective."""
    if step.peers is None or not collectives.is_collective(step.eqn):
        return step.inputs
    return [value for peer in step.peers for value in peer.inputs]


def _device(step: interpret.BoundEquation) -> str:
    """Return the position of the device that runs a step, such as 'data=0'; empty outside of a `shard_map`."""
    shards = step.scope.shards
    return "" if shards is None or step.device is None else shard_label(shards.devices()[step.device].items())


def _is_not_finite(data: np.ndarray) -> np.ndarray:
    return ~np.isfinite(data)


def _without(test: Callable[[np.ndarray], Any], step: interpret.BoundEquation, wrong: np.ndarray) -> np.ndarray:
    """Return at which elements no operand passes a test; everywhere or nowhere for other than elementwise steps."""
    found = [test(np.asarray(value)) for value in operands(step) if is_float(value)]
    if step.eqn.primitive.name not in ELEMENTWISE:
        return np.full(wrong.shape, not any(mask.any() for mask in found))
    return np.logical_not(functools.reduce(np.logical_or, found, np.zeros(wrong.shape, bool)))


def _first(mask: np.ndarray) -> tuple[int, ...]:
    return tuple(map(int, np.argwhere(mask)[0]))


def _element(step: interpret.BoundEquation, data: np.ndarray, index: tuple[int, ...]) -> dict[str, Any]:
    """Return those fields of a `BadValue` that say which element it shows."""
    number = data[index]
    made = "nan" if np.isnan(number) else "inf" if np.real(number) > 0 or np.imag(number) > 0 else "-inf"
    shown = tuple(_operand(atom, index, data.shape) for atom in step.inputs)
    return {"made": made, "index": index, "operands": shown}


def _operand(value: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return an operand's element at the index of the bad one if the shapes broadcast, else its type."""
    if not is_ref(value):
        with contextlib.suppress(TypeError, ValueError):  # it is a key, or does not broadcast
            return str(np.broadcast_to(np.asarray(value), shape)[index])
    return array_type(value)
