"""Log every key that a program consumes, while it runs equation by equation."""

import itertools
from collections.abc import MutableMapping, Sequence, Set
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from jaxguide import compat
from jaxguide.compat.collectives import SHARD_MAPS
from jaxguide.compat.primitives import KEY_USES, SCAN, WHILE
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.batched_rows import BranchFinder, active_rows
from jaxguide.jaxpr.devices import is_key_array
from jaxguide.jaxpr.eager import EagerOperation
from jaxguide.keys.events import Bits, Event, KeyLog, PathStep, implementation, key_rows, key_words
from jaxguide.keys.key_report import Use
from jaxguide.keys.origins import CallSite, EquationOrigin, origin

# How many iterations of a loop are followed; inside another loop an eighth as many, and so on.
_MOST_ITERATIONS, _AT_LEAST = 64, 2

# `KEY_USES` has the primitives that consume, make or clone a key. Wrapping, unwrapping and moving a key are not uses.


class KeyObserver(interpret.Observer):
    """Log the keys that each equation consumes."""

    lazy = True
    # What is known of each jaxpr, for all observers: JAX keeps those of jitted functions from call to call.
    plans: ClassVar[MutableMapping[Any, interpret.KeptPlans]] = WeakKeyDictionary()
    _finder: ClassVar = BranchFinder()
    _consuming: ClassVar[MutableMapping[Any, bool]] = WeakKeyDictionary()
    _origins: ClassVar[MutableMapping[Any, dict[int, tuple[Any, EquationOrigin]]]] = WeakKeyDictionary()

    def __init__(self, log: KeyLog) -> None:
        self.log = log
        self._operation = 0
        self._peers: object = None
        self._done: dict[Any, set[int]] = {}

    def watches(self, eqn: Any) -> bool:
        """Return whether keys are consumed in this equation."""
        if eqn.primitive.name in KEY_USES:
            return True
        # The backward pass of `jax.checkpoint` repeats the draws of the forward pass on purpose.
        return not eqn.params.get("differentiated") and any(map(self._consumes, interpret.inner_jaxprs(eqn)))

    def _consumes(self, jaxpr: Any) -> bool:
        if jaxpr not in self._consuming:
            self._consuming[jaxpr] = any(map(self.watches, jaxpr.eqns))
        return self._consuming[jaxpr]

    def reads(self, eqn: Any, jaxpr: Any, asked: Sequence[bool]) -> Sequence[bool] | None:
        """Return which inputs of an equation are needed: of a draw whose numbers are not needed, only the key."""
        everything = (True,) * len(eqn.invars)
        name = eqn.primitive.name
        if self._finder.has_branches(jaxpr) or name in SHARD_MAPS:
            return everything
        kind = KEY_USES.get(name)
        if kind is None and self._origin_of(eqn, jaxpr).sampler is None:
            return None
        if kind not in (None, "draw") or any(asked) or name == "rng_bit_generator":
            return everything
        return tuple("key<" in str(v.aval.dtype) for v in eqn.invars)

    def enters(self, step: interpret.BoundEquation) -> bool:
        """Look inside the user's calls and loops, but not inside those of samplers."""
        name = step.eqn.primitive.name
        if name in KEY_USES or self._origin(step).sampler is not None:
            return False
        if not interpret.can_enter(step.eqn) and name not in SHARD_MAPS:
            self.unseen(step)
        return True

    def unseen(self, step: interpret.BoundEquation) -> None:
        """Log that keys are used where they cannot be seen."""
        places = self._origin(step).places
        self.log.unseen.setdefault((step.eqn.primitive.name, places[0].line if places else None))

    def most_iterations(self, step: interpret.BoundEquation) -> int:
        """Return how many iterations of a loop to follow."""
        outer = [one.eqn for one in step.outward() if one is not step and not isinstance(one.eqn, EagerOperation)]
        loops = sum(eqn.primitive.name in (SCAN, WHILE) for eqn in outer)
        return max(_MOST_ITERATIONS >> 3 * loops, _AT_LEAST)

    def cut(self, step: interpret.BoundEquation, followed: int, count: int, left: Sequence[Any]) -> None:
        """Log that a loop was followed only in part."""
        places = self._places(step)
        line = places[0].line if places else None
        self.log.cut[line] = max(self.log.cut.get(line, (0, 0)), (followed, count), key=lambda seen: seen[1])
        self.log.left += [x for x in left if is_key_array(x) or (np.ndim(x) and x.dtype == np.uint32)]

    def before(self, step: interpret.BoundEquation) -> Sequence[Any] | None:
        """Log what a sampler or a single primitive is about to consume."""
        kind = KEY_USES.get(step.eqn.primitive.name)
        sampler = self._origin(step).sampler
        if kind is None and sampler is None:
            return None
        if kind in (None, "draw") and _draws_nothing(step.eqn, step.inputs):
            if any(value is None for value in step.inputs):  # nobody needs the array
                return [None] * len(step.eqn.outvars)
            return interpret.bind(step.eqn, step.inputs)
        # Only draws are worth skipping if nothing depends on them.
        outputs = None if kind in (None, "draw") else interpret.bind(step.eqn, step.inputs)
        if sampler is not None:
            self._sampler(step, sampler, outputs)
        elif kind is not None:
            self._primitive(step, kind, outputs)
        return outputs

    def _sampler(self, step: interpret.BoundEquation, sampler: str, outputs: Sequence[Any] | None) -> None:
        keys = [value for value in step.inputs if is_key_array(value)]
        bits = [tuple(key_rows(key_words(key))) for key in keys]
        # Equations of one call can differ only in the jaxprs inside them; an equation without a key is not a use.
        inner = tuple(map(id, interpret.inner_jaxprs(step.eqn)))
        shape = step.eqn.params.get("shape")
        equation = (step.eqn.primitive.name, inner, shape, *bits) if keys else object()
        call = self.log.sampler_call(step.scope, self._origin(step), equation)
        for key, rows in zip(keys, bits, strict=True):
            like = Use("draw", (), implementation(key), sampler=sampler)
            self._log(step, key, like, skip=call.own | call.drawn)
            call.drawn.update(rows)
        if outputs is not None and is_key_array(outputs[0]):
            call.own.update(key_rows(key_words(outputs[0])))

    def _primitive(self, step: interpret.BoundEquation, kind: str, outputs: Sequence[Any] | None) -> None:
        key = step.inputs[0] if kind != "seed" or outputs is None else outputs[0]
        made = None if outputs is None else key_words(outputs[0])
        data = None
        count = None
        if kind == "split":
            count = int(np.prod(step.eqn.params["shape"], dtype=int))
        elif kind == "fold_in":
            # `vmap(fold_in, (None, 0))` batches the number, but not the key.
            data = np.asarray(step.inputs[1])
            key = np.broadcast_to(
                key_words(key), (*np.broadcast_shapes(key.shape, data.shape), key_words(key).shape[-1])
            )
            data = np.broadcast_to(data, key.shape[:-1])
        elif kind == "seed":
            data = np.asarray(step.inputs[0])
        impl = implementation(step.inputs[0]) or implementation(outputs[0] if outputs else key)
        self._log(step, key, Use(kind, (), impl, sampler="bits" if kind == "draw" else None, count=count), made, data)

    def _log(
        self,
        step: interpret.BoundEquation,
        key: Any,
        like: Use,
        made: np.ndarray | None = None,
        data: np.ndarray | None = None,
        skip: Set[Bits] = frozenset(),
    ) -> None:
        bits = key_words(key)
        shape = bits.shape[:-1]
        steps = list(step.outward())
        origins = [self._origin(one) for one in steps]
        branches = [branch for one in steps for branch in self._finder.branches(one)]
        masks = [*(branch.active for branch in branches), *(one.scope.active for one in steps)]
        active = active_rows(shape, [mask for mask in masks if mask is not None]).reshape(-1)
        rows = key_rows(bits)
        children = [()] * len(rows) if made is None else _children(made, len(rows))
        numbers = [None] * len(rows) if data is None else [int(n) for n in data.reshape(-1)]
        used = [i for i in range(len(rows)) if active[i] and rows[i] not in skip]
        if not used:
            return
        # Each `vmap` that maps over the key gives it an axis: if one is missing, all rows get the same key.
        vmaps = sum(found.vmaps for found in origins)
        shared = vmaps > len(shape)
        tags = frozenset[Any](one.scope.branch for one in steps if one.scope.branch is not None)
        if branches and all(branch.shared for branch in branches) and len({(rows[i], numbers[i]) for i in used}) == 1:
            # JAX copied the single key of a cond under `vmap` to the rows, but a row draws in one branch only.
            shared = vmaps > 0 and len(used) > 1
            used = used[:1]
            tags |= {branch.tag for branch in branches if branch.tag is not None}
        places = self._places(step)
        number = places[0].line.number if places else None
        source = places[0].line.text() if places else None
        starts = itertools.accumulate((len(found.places) for found in origins), initial=0)
        inside = (i + found.mapped for i, found in zip(starts, origins, strict=False) if found.mapped is not None)
        mapped = next(iter(places[next(inside, len(places)) :]), None)
        path = tuple(
            PathStep(one.scope.number, id(one.eqn), found.site) for one, found in zip(steps, origins, strict=True)
        )
        if step.peers is None or step.peers is not self._peers:  # one operation for all devices
            self._operation, self._peers, self._done = self._operation + 1, step.peers, {}
        for i in used:
            axis = self._repeated_along(step, like.kind, (rows[i], numbers[i]))
            if axis == "":
                continue
            use = Use(like.kind, rows[i], like.impl, number, source, like.sampler, numbers[i], like.count)
            event = Event(use, places, self._operation, children[i], tags, vmaps > 0, mapped, shared, axis, path)
            self.log.events.append(event)

    def _repeated_along(self, step: interpret.BoundEquation, kind: str, row: tuple[Bits, int | None]) -> str | None:
        """Return the axis of the mesh along which all devices draw the same; None if no other device has done this.

        It is '' where that is no mistake: not all devices draw this, or no output is divided among them.
        """
        shards = step.scope.shards
        if step.device is None or shards is None:
            return None
        done = self._done.setdefault(row, set())
        done.add(step.device)
        if len(done) == 1:
            return None
        axes = [axis for division in shards.outputs for part in division for axis in part]
        return axes[0] if axes and kind == "draw" and len(done) == len(shards.devices()) else ""

    def _places(self, step: interpret.BoundEquation) -> tuple[CallSite, ...]:
        """Return the calls in the user's code that led to a step, innermost first."""
        return tuple(place for one in step.outward() for place in self._origin(one).places)

    def _origin(self, step: interpret.BoundEquation) -> EquationOrigin:
        return self._origin_of(step.eqn, step.scope.jaxpr)

    def _origin_of(self, eqn: Any, jaxpr: Any) -> EquationOrigin:
        origins = self._origins.setdefault(jaxpr, {})
        if id(eqn) not in origins:
            # The equation is kept alive so that its id stays unique.
            origins[id(eqn)] = (eqn, origin(eqn.source_info, jaxpr))
        return origins[id(eqn)][1]


def _draws_nothing(eqn: Any, inputs: Sequence[Any]) -> bool:
    """Return whether all arrays that an equation draws are empty."""
    shapes = [variable.aval.shape for variable in eqn.outvars]
    if not shapes:  # an operation of a function that is not traced
        inner = [compat.jaxpr_parts(jaxpr)[0] for jaxpr in interpret.inner_jaxprs(eqn)]
        shapes = [variable.aval.shape for jaxpr in inner for variable in jaxpr.outvars]
        shapes = shapes or [eqn.params.get("shape", np.shape(inputs[-1]))]
    return all(0 in shape for shape in shapes)


def _children(made: np.ndarray, parents: int) -> list[tuple[Bits, ...]]:
    """Return the keys made from each parent; the axes of a split come last."""
    flat = key_rows(made)
    each = len(flat) // max(parents, 1)
    return [tuple(flat[i * each : (i + 1) * each]) for i in range(parents)]
