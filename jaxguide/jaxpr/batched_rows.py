"""Find the rows of a batched computation that count; the others are computed and discarded.

Under `vmap`, both branches of a `jax.lax.cond` run for every row, and a finished row of a `jax.lax.while_loop` keeps
running until the last one is done.
"""

import weakref
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from jaxguide.compat.primitives import BROADCAST_IN_DIM, EQUAL, MOVES, SELECT, STOP_GRADIENT
from jaxguide.jaxpr.interpret import BoundEquation, Scope, is_literal


@dataclass(frozen=True)
class BatchedBranch:
    """A branch of a batched cond around a step.

    Args:
        active: bool[rows], the rows that take the branch.
        tag: (cond, branch number); None if unknown.
        shared: all rows get the same value as the branch's operand.
    """

    active: np.ndarray
    tag: tuple[Any, int] | None
    shared: bool


class BranchFinder:
    """Find the batched branches around steps, with a cache for each jaxpr."""

    def __init__(self) -> None:
        self._makers: MutableMapping[Any, dict[Any, Any]] = WeakKeyDictionary()
        self._marked: MutableMapping[Any, bool] = WeakKeyDictionary()

    def has_branches(self, jaxpr: Any) -> bool:
        """Return whether there are branches of batched conds in a jaxpr."""
        if hasattr(jaxpr, "makers"):  # it grows as the function runs
            return any(_marks(eqn, jaxpr.makers) for eqn in jaxpr.makers.values())
        if jaxpr not in self._marked:
            makers = self._makers_of(jaxpr)
            self._marked[jaxpr] = any(_marks(eqn, makers) for eqn in makers.values())
        return self._marked[jaxpr]

    def branches(self, step: BoundEquation) -> Iterator[BatchedBranch]:
        """Yield the branches of batched conds around `step` in its own jaxpr.

        The batching rule of `cond` passes each operand of a branch through `select_n(taken, stop_gradient(x), x)`. That
        changes no value, but marks what belongs to the branch (seen in 0.10.2 to 0.12.0.1).
        """
        makers = self._makers_of(step.scope.jaxpr)
        if not self.has_branches(step.scope.jaxpr):
            return
        waiting, seen = [v for v in step.eqn.invars if not is_literal(v)], set()
        while waiting:
            variable = waiting.pop()
            eqn = makers.get(variable)
            if variable in seen or eqn is None:
                continue
            seen.add(variable)
            if _marks(eqn, makers):
                yield self._branch(eqn, makers, step.scope)
                waiting.append(eqn.invars[2])
            elif eqn.primitive.name != SELECT:
                waiting += [v for v in eqn.invars if not is_literal(v)]

    def _makers_of(self, jaxpr: Any) -> dict[Any, Any]:
        if hasattr(jaxpr, "makers"):  # a function that is not traced records them as it runs
            return cast(dict[Any, Any], jaxpr.makers)
        if jaxpr not in self._makers:
            self._makers[jaxpr] = {variable: eqn for eqn in jaxpr.eqns for variable in eqn.outvars}
        return self._makers[jaxpr]

    def _branch(self, mark: Any, makers: dict[Any, Any], scope: Scope) -> BatchedBranch:
        taken, eqn = mark.invars[0], makers.get(mark.invars[0])
        while eqn is not None and eqn.primitive.name in MOVES and eqn.invars[0].aval.ndim:
            taken, eqn = eqn.invars[0], makers.get(eqn.invars[0])
        tag = None
        if eqn is not None and eqn.primitive.name == EQUAL and is_literal(eqn.invars[1]):
            tag = ((weakref.ref(scope), eqn.invars[0]), int(eqn.invars[1].val))
        source = makers.get(mark.invars[2])
        shared = source is not None and source.primitive.name == BROADCAST_IN_DIM
        return BatchedBranch(np.asarray(scope.read(taken)), tag, shared)


def _marks(eqn: Any, makers: dict[Any, Any]) -> bool:
    if eqn.primitive.name != SELECT or len(eqn.invars) != 3:
        return False
    _, idle, taken = eqn.invars
    maker = None if is_literal(idle) else makers.get(idle)
    if maker is not None and maker.primitive.name == STOP_GRADIENT:
        idle = maker.invars[0]
    return idle is taken


def active_rows(shape: tuple[int, ...], masks: list[np.ndarray]) -> np.ndarray:
    """Return bool[shape]: which keys in an array of this shape are really used, given the masks around it."""
    active = np.ones(shape, bool)
    for mask in masks:
        if mask.ndim and shape[: mask.ndim] == mask.shape:
            active &= mask.reshape(mask.shape + (1,) * (len(shape) - mask.ndim))
    return active
