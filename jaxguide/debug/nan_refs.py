"""Remember which NaNs and infinities were written to which elements of a `jax.Ref`."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import jax
import numpy as np

from jaxguide.compat.primitives import ADD_UPDATE, FREEZE, GET, SWAP
from jaxguide.debug.nan_report import BadValue
from jaxguide.jaxpr import interpret

Makers = tuple[BadValue, ...]


class RefOrigins:
    """What made the elements of each Ref that are not finite.

    A label for each element stands for its origin. To find the elements that a step reads or writes, the step itself
    runs on the labels.
    """

    def __init__(self) -> None:
        self._labels: dict[int, tuple[Any, np.ndarray]] = {}
        self._before: dict[int, np.ndarray] = {}
        self._origins: list[Makers | None] = [None]

    def before(self, step: interpret.BoundEquation) -> None:
        """Keep what a step adds to, and meet the Refs that it gets: what is in them now came from outside."""
        for ref in filter(is_ref, step.inputs):
            if id(ref) not in self._labels:
                self._label(ref, _bad(ref), ())
        if step.eqn.primitive.name == ADD_UPDATE:
            self._before[id(step)] = _bad(step.inputs[0])

    def written(self, ref: Any, origin: Makers, where: Any = True) -> None:
        """Record that the bad elements of a Ref, or those of a mask, came from somewhere."""
        self._label(ref, _bad(ref) & where, origin)

    def elements(self, step: interpret.BoundEquation) -> np.ndarray:
        """Return the elements of a Ref to which a `swap` or `addupdate` writes, as a mask."""
        _outputs, written = self._run(step, np.zeros(step.inputs[0].shape, np.int32))
        return cast(np.ndarray, written != 0)

    def added(self, step: interpret.BoundEquation) -> np.ndarray:
        """Return the elements that became bad when an `addupdate` ran, as a mask."""
        return cast(np.ndarray, _bad(step.inputs[0]) & ~self._before.pop(id(step)))

    def labels(self, step: interpret.BoundEquation) -> np.ndarray:
        """Return the labels of the elements that a `get`, `swap` or `freeze` gave, before a `swap` writes."""
        (labels,), _after = self._run(step, self._labels[id(step.inputs[0])][1])
        return np.asarray(labels)

    def origin(self, labels: Iterable[int]) -> Makers | None:
        """Return what made the elements with these labels; None if that is not known."""
        found = [self._origins[label] for label in sorted(set(labels))]
        known = [origin for origin in found if origin is not None]
        return tuple(dict.fromkeys(bad for origin in known for bad in origin)) if known else None

    def held(self, ref: Any) -> Makers:
        """Return what made the bad elements that are in a Ref now."""
        _ref, labels = self._labels.get(id(ref), (ref, np.zeros(ref.shape, int)))
        return self.origin(labels[_bad(ref)].tolist()) or ()

    def _label(self, ref: Any, where: np.ndarray, origin: Makers) -> None:
        _ref, labels = self._labels.setdefault(id(ref), (ref, np.zeros(ref.shape, np.int32)))
        if where.any():
            labels[where] = len(self._origins)
            self._origins.append(origin)

    @staticmethod
    def _run(step: interpret.BoundEquation, labels: np.ndarray) -> tuple[Sequence[Any], np.ndarray]:
        """Run a step on a Ref with labels, into which it writes ones; return its outputs and the new labels."""
        ref: Any = jax.new_ref(jax.numpy.asarray(labels))
        rest = step.inputs[1:]
        if step.eqn.primitive.name in (SWAP, ADD_UPDATE):
            rest = [np.ones(np.shape(rest[0]), np.int32), *rest[1:]]
        outputs = interpret.bind(step.eqn, [ref, *rest])
        return outputs, labels if step.eqn.primitive.name == FREEZE else np.asarray(ref[...])


def is_ref(value: Any) -> bool:
    """Return whether a value is a Ref of floating-point or complex numbers."""
    return isinstance(value, jax.Ref) and jax.dtypes.issubdtype(value.dtype, np.inexact)


def _bad(ref: Any) -> np.ndarray:
    return ~np.isfinite(np.asarray(ref[...]))


READS = frozenset({GET, SWAP, FREEZE})
