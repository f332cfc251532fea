"""Find the draws inside a `shard_map` whose numbers are used as if they differed from device to device.

A key that all devices have gives all of them the same numbers. That is meant if they stay the same everywhere, as the
noise that is added to summed gradients, and a mistake if they meet values that differ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxguide import compat
from jaxguide.compat import collectives
from jaxguide.compat.primitives import COND, SCAN, WHILE
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.devices import Shards

# Marks what depends on the number of the device; the program decided which devices share.
_NUMBERED = 0


@dataclass(frozen=True)
class _Fact:
    """What is known of a value: the axes along which it may differ, and the draws, by id, that it depends on."""

    axes: frozenset[str] = frozenset()
    draws: frozenset[int] = frozenset()

    def __or__(self, other: "_Fact") -> "_Fact":
        return _Fact(self.axes | other.axes, self.draws | other.draws)


_NOTHING = _Fact()


def _all(facts: Sequence[_Fact]) -> _Fact:
    return _Fact(frozenset().union(*(fact.axes for fact in facts)), frozenset().union(*(fact.draws for fact in facts)))


def axes_of_repeats(eqn: Any, shards: Shards, draws: Callable[[Any, Any], bool]) -> dict[int, frozenset[str]]:
    """Return for each draw, by the id of its equation, the axes along which equal numbers are a mistake.

    Args:
        eqn: the `shard_map`.
        shards: how it divides its arrays.
        draws: returns whether an equation, given with its jaxpr, draws from a key.
    """
    flow = _Flow(draws)
    wide = {axis for axis, size in shards.axes.items() if size > 1}
    given = [_Fact(frozenset(axis for part in parts for axis in part)) for parts in shards.inputs]
    results = flow.run(interpret.inner_jaxprs(eqn)[0], given)
    for fact, parts in zip(results, shards.outputs, strict=True):
        flow.meet(fact, frozenset(axis for part in parts for axis in part))
    return {draw: frozenset(axes & wide) for draw, axes in flow.counted.items()}


class _Flow:
    def __init__(self, draws: Callable[[Any, Any], bool]) -> None:
        self.counted: dict[int, set[str]] = {}
        self._own: dict[int, frozenset[str]] = {}
        self._draws = draws

    def meet(self, fact: _Fact, axes: frozenset[str]) -> None:
        """Note that numbers were combined with values that differ along these axes."""
        for draw in fact.draws - {_NUMBERED}:
            self.counted[draw] |= axes - self._own[draw]

    def run(self, closed: Any, given: Sequence[_Fact]) -> list[_Fact]:
        jaxpr, _ = compat.jaxpr_parts(closed)
        known = dict(zip(jaxpr.invars, given, strict=True))

        def read(atom: Any) -> _Fact:
            return _NOTHING if interpret.is_literal(atom) else known.get(atom, _NOTHING)

        for eqn in jaxpr.eqns:
            inputs = [read(atom) for atom in eqn.invars]
            outputs = self._draw(eqn, inputs) if self._draws(eqn, jaxpr) else self._equation(eqn, inputs)
            known.update(zip(eqn.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _draw(self, eqn: Any, inputs: Sequence[_Fact]) -> list[_Fact]:
        keys = [fact for atom, fact in zip(eqn.invars, inputs, strict=True) if "key<" in str(atom.aval.dtype)]
        key, everything = _all(keys or inputs), _all(inputs)
        self._own[id(eqn)] = key.axes
        counted = self.counted.setdefault(id(eqn), set())
        if _NUMBERED not in key.draws:
            counted |= key.axes  # the program gave the devices keys of their own
        counted |= everything.axes - key.axes
        self.meet(everything, everything.axes)
        return [_Fact(everything.axes, everything.draws | {id(eqn)})] * len(eqn.outvars)

    def _equation(self, eqn: Any, inputs: Sequence[_Fact]) -> list[_Fact]:
        name = eqn.primitive.name
        if interpret.called_jaxpr(eqn) is not None:
            return self.run(interpret.called_jaxpr(eqn), inputs)
        if name == COND:
            branches = [self.run(branch, inputs[1:]) for branch in eqn.params["branches"]]
            return [_all([inputs[0], *facts]) for facts in zip(*branches, strict=True)]
        if name == SCAN:
            return self._scan(eqn, inputs)
        if name == WHILE:
            return self._while(eqn, inputs)
        fact = _all(inputs)
        axes = frozenset(collectives.axes_of(eqn)) if collectives.mentions_axes(eqn) else frozenset()
        if collectives.is_cast(eqn):
            return list(inputs)
        if name == collectives.AXIS_INDEX:
            return [_Fact(axes, frozenset({_NUMBERED}))]
        self.meet(fact, fact.axes)
        if collectives.is_collective(eqn):
            self.meet(fact, axes)
            fact = _Fact(fact.axes - axes if collectives.equalizes(eqn) else fact.axes | axes, fact.draws)
        return [fact] * len(eqn.outvars)

    def _scan(self, eqn: Any, inputs: Sequence[_Fact]) -> list[_Fact]:
        consts_n, carry_n = interpret.scan_split(eqn)
        consts, scanned = inputs[:consts_n], inputs[consts_n + carry_n :]
        carry = list(inputs[consts_n : consts_n + carry_n])
        while True:
            outputs = self.run(eqn.params["jaxpr"], [*consts, *carry, *scanned])
            grown = [old | new for old, new in zip(carry, outputs[:carry_n], strict=True)]
            if grown == carry:
                return [*carry, *outputs[carry_n:]]
            carry = grown

    def _while(self, eqn: Any, inputs: Sequence[_Fact]) -> list[_Fact]:
        cond_n, body_n = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        carry = list(inputs[cond_n + body_n :])
        while True:
            (going,) = self.run(eqn.params["cond_jaxpr"], [*inputs[:cond_n], *carry])
            outputs = self.run(eqn.params["body_jaxpr"], [*inputs[cond_n : cond_n + body_n], *carry])
            grown = [old | new | going for old, new in zip(carry, outputs, strict=True)]
            if grown == carry:
                return carry
            carry = grown
