"""Know which devices of a `shard_map` have done the same with the same key."""

from collections.abc import Callable, Sequence
from typing import Any

from jaxguide.jaxpr.interpret import BoundEquation, shards_of

KeyAndNumber = tuple[tuple[int, ...], int | None]


class DeviceRows:
    """The uses of the devices that run one equation side by side, and which of them repeat numbers by mistake."""

    def __init__(self) -> None:
        self._positions: dict[int, list[dict[str, int]]] = {}
        self._counted: dict[int, dict[int, frozenset[str]]] = {}
        self._moment: object = None
        self._done: dict[KeyAndNumber, int] = {}
        self._told: set[KeyAndNumber] = set()

    def enter(self, step: BoundEquation, draws: Callable[[Any, Any], bool]) -> None:
        """Learn about a `shard_map` before it runs."""
        from jaxguide.keys.device_flow import axes_of_repeats

        if id(step.eqn) in self._counted:
            return
        shards = shards_of(step.eqn)
        self._counted[id(step.eqn)] = {} if shards is None else axes_of_repeats(step.eqn, shards, draws)
        self._positions[id(step.eqn)] = [] if shards is None else shards.devices()

    def repeats(self, step: BoundEquation, rows: Sequence[KeyAndNumber]) -> dict[KeyAndNumber, str | None]:
        """Return those uses of a device that another one has made just now.

        Each has the name of the axis along which the two devices must not get the same numbers; or None if they may, or
        if this was told before.
        """
        if step.peers is None:
            return {}
        if step.peers is not self._moment:
            self._moment, self._done, self._told = step.peers, {}, set()
        found: dict[KeyAndNumber, str | None] = {}
        for row in dict.fromkeys(rows):
            first = self._done.get(row)
            if first is not None and first != step.device:
                found[row] = None if row in self._told else self._axis(step, first)
                if found[row] is not None:
                    self._told.add(row)
            self._done.setdefault(row, step.device or 0)
        return found

    def _axis(self, step: BoundEquation, other: int) -> str | None:
        outer = next(one for one in step.outward() if id(one.eqn) in self._counted)
        counted = self._counted[id(outer.eqn)].get(id(step.eqn), frozenset())
        positions = self._positions[id(outer.eqn)]
        here, there = positions[step.device or 0], positions[other]
        return next((axis for axis in here if axis in counted and here[axis] != there[axis]), None)
