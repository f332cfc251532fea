"""Run a program and log every key that it consumes."""

from collections.abc import Callable, Collection, MutableMapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from jaxguide import compat
from jaxguide.compat.collectives import SHARD_MAPS
from jaxguide.compat.debug_flags import CHECKS, flags_off
from jaxguide.compat.primitives import KEY_USES, LINEAR_SOLVE, SCAN, WHILE
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.batched_rows import BatchedBranch, BranchFinder, active_rows
from jaxguide.jaxpr.eager import EagerOperation, run_eagerly
from jaxguide.jaxpr.stage import stage
from jaxguide.keys.device_rows import DeviceRows
from jaxguide.keys.events import (
    Bits,
    Event,
    KeyLog,
    PathStep,
    implementation,
    is_key,
    key_rows,
    key_words,
)
from jaxguide.keys.generators import require_finished
from jaxguide.keys.ignoring import read_ignored
from jaxguide.keys.key_record import KeyUse, Use
from jaxguide.keys.origins import CallSite, EquationOrigin, origin
from jaxguide.keys.problems import find_problems

# How many iterations of a loop are followed; inside another loop an eighth as many, and so on.
_MOST_ITERATIONS, _AT_LEAST = 64, 2

# `KEY_USES` has the primitives that consume, make or clone a key. Wrapping, unwrapping and moving a key are not uses.


def key_use(fn: Callable[..., Any], /, *args: Any, ignore: str | Collection[str] = (), **kwargs: Any) -> KeyUse:
    """Run `fn` on the given arguments and report each key that it draws from, splits or folds into.

    >>> import jax
    >>> def noise(key):
    ...     return jax.random.normal(key, (3,)) + jax.random.uniform(key, (3,))
    >>> [problem.kind for problem in key_use(noise, jax.random.key(0)).problems]
    ['drawn_twice']
    >>> [use.sampler for use in key_use(noise, jax.random.key(0)).uses]
    ['normal', 'uniform']

    The program really runs, so only the branch of a `jax.lax.cond` that is taken is seen; a host callback runs only
    if a key depends on its result. Keys are told apart by their bits, so typed keys, legacy uint32 keys and all
    implementations work alike, also through containers, closures, jit, vmap, scan, while, cond, grad and checkpoint.
    `jax.random.clone` allows one more use. A function that needs real values while it is traced (a Python `if` on an
    array) is run without tracing. Of a loop, the first iterations are followed, as by `check_keys`.

    Args:
        fn: any function, also jitted or vmapped. Arrays, keys and floats are traced; Python integers, strings,
            booleans and None are passed as they are, so that they can be shapes.
        args, kwargs: its arguments.
        ignore: problems to leave out, as for `check_keys`.

    Returns:
        The uses and the problems. If the program raises, there are no uses and `untraceable` is the exception's text.

    Based on `jax.make_jaxpr`; `check_keys` returns the problems alone, and `key_tree` draws the uses.
    """
    ignored = read_ignored("key_use", ignore, fn)
    try:
        log = observe_keys(fn, args, kwargs)
    except Exception as error:
        return KeyUse(untraceable=f"{type(error).__name__}: {error}")
    problems = find_problems(log, ignored)
    uses = [event.use for event in log.events]
    return KeyUse(uses, problems, ignored=problems.ignored, cut_loops=problems.cut_loops)


@flags_off(*CHECKS)  # JAX's own checker would count the uses of this run, too
def observe_keys(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> KeyLog:
    """Run `fn` and log every use of its keys.

    Raises:
        TypeError: `fn` returned something that has not run yet, such as a generator.
        Exception: whatever `fn` raises when it is called without tracing.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        require_finished(fn, result)
        return result

    log = KeyLog()
    try:
        staged = stage(run, args, kwargs)
        interpret.run(staged.jaxpr, staged.arguments, KeyObserver(log), wanted=False)
    except Exception:  # without tracing, the same call works or raises the student's own error
        log = KeyLog()
    else:
        return log
    run_eagerly(run, args, kwargs, KeyObserver(log))
    return log


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
        self._devices = DeviceRows()
        self._nearest: tuple[interpret.Scope, _Surroundings] | None = None

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
        if self._finder.has_branches(jaxpr) or name in SHARD_MAPS or name == LINEAR_SOLVE:
            return everything
        kind = KEY_USES.get(name)
        if kind is None and self._origin_of(eqn, jaxpr).sampler is None:
            return None
        if kind not in (None, "draw") or any(asked) or name == "rng_bit_generator":
            return everything
        return tuple("key<" in str(v.aval.dtype) for v in eqn.invars)

    def enters(self, step: interpret.BoundEquation) -> bool:
        """Look inside the user's calls and loops, but not inside those of samplers."""
        found = self._origin(step)
        if found.sampler is None and not interpret.can_enter(step.eqn):
            if step.eqn.primitive.name in SHARD_MAPS:
                self._devices.enter(step, self._draws)
            else:
                self.unseen(step)
        return found.sampler is None

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
        places = self._origin(step).places + self._surroundings(step.scope).places
        line = places[0].line if places else None
        self.log.cut[line] = max(self.log.cut.get(line, (0, 0)), (followed, count), key=lambda seen: seen[1])
        self.log.left += [x for x in left if is_key(x) or (np.ndim(x) and x.dtype == np.uint32)]

    def _draws(self, eqn: Any, jaxpr: Any) -> bool:
        if KEY_USES.get(eqn.primitive.name) == "draw":
            return True
        given = any(not interpret.is_literal(v) and "key<" in str(v.aval.dtype) for v in eqn.invars)
        return given and self._origin_of(eqn, jaxpr).sampler is not None

    def before(self, step: interpret.BoundEquation) -> Sequence[Any] | None:
        """Log what a sampler or a single primitive is about to consume."""
        if step.eqn.primitive.name == LINEAR_SOLVE:
            return self._solve(step)
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

    def _solve(self, step: interpret.BoundEquation) -> Sequence[Any]:
        # Of its four functions, only `solve` runs, with its own constants, which come third among the inputs.
        lengths = step.eqn.params["const_lengths"]
        start = lengths.matvec + lengths.vecmat
        after = start + lengths.solve + lengths.transpose_solve
        inputs = [*step.inputs[start : start + lengths.solve], *step.inputs[after:]]
        return interpret.run(step.eqn.params["jaxprs"].solve, inputs, self, step)

    def _sampler(self, step: interpret.BoundEquation, sampler: str, outputs: Sequence[Any] | None) -> None:
        keys = [value for value in step.inputs if is_key(value)]
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
        if outputs is not None and is_key(outputs[0]):
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
        own, around = self._origin(step), self._surroundings(step.scope)
        branches = [*self._finder.branches(step), *around.branches]
        masks = [*(branch.active for branch in branches), *around.running]
        active = active_rows(shape, masks).reshape(-1)
        rows = key_rows(bits)
        children = [()] * len(rows) if made is None else _children(made, len(rows))
        numbers = [None] * len(rows) if data is None else [int(n) for n in data.reshape(-1)]
        used = [i for i in range(len(rows)) if active[i] and rows[i] not in skip]
        if not used:
            return
        # Each `vmap` that maps over the key gives it an axis: if one is missing, all rows get the same key.
        vmaps = own.vmaps + around.vmaps
        shared = vmaps > len(shape)
        tags: frozenset[Any] = frozenset()
        if branches and all(branch.shared for branch in branches) and len({(rows[i], numbers[i]) for i in used}) == 1:
            # JAX copied the single key of a cond under `vmap` to the rows, but a row draws in one branch only.
            shared = vmaps > 0 and len(used) > 1
            used = used[:1]
            tags = frozenset(branch.tag for branch in branches if branch.tag is not None)
        tags |= around.taken
        places = own.places + around.places
        number = places[0].line.number if places else None
        source = places[0].line.text() if places else None
        path = (PathStep(step.scope.number, id(step.eqn), own.site), *around.path)
        operation = self.log.operation(step.peers)
        repeats = self._devices.repeats(step, [(rows[i], numbers[i]) for i in used])
        for i in used:
            axis = repeats.get((rows[i], numbers[i]), "")
            if axis is None:  # another device did just this, and that is not a mistake
                continue
            use = Use(like.kind, rows[i], like.impl, number, source, like.sampler, numbers[i], like.count)
            event = Event(use, places, operation, children[i], tags, vmaps > 0, shared, axis or None, path)
            self.log.events.append(event)

    def _surroundings(self, scope: interpret.Scope) -> "_Surroundings":
        """Return what all steps in a scope have in common."""
        if self._nearest is None or self._nearest[0] is not scope:
            outer = [] if scope.caller is None else list(scope.caller.outward())
            origins = [self._origin(step) for step in outer]
            scopes = [scope, *(step.scope for step in outer)]
            found = _Surroundings(
                tuple(place for found in origins for place in found.places),
                sum(found.vmaps for found in origins),
                [branch for step in outer for branch in self._finder.branches(step)],
                [one.active for one in scopes if one.active is not None],
                frozenset(one.branch for one in scopes if one.branch is not None),
                tuple(
                    PathStep(step.scope.number, id(step.eqn), found.site)
                    for step, found in zip(outer, origins, strict=True)
                ),
            )
            self._nearest = scope, found
        return self._nearest[1]

    def _origin(self, step: interpret.BoundEquation) -> EquationOrigin:
        return self._origin_of(step.eqn, step.scope.jaxpr)

    def _origin_of(self, eqn: Any, jaxpr: Any) -> EquationOrigin:
        origins = self._origins.setdefault(jaxpr, {})
        if id(eqn) not in origins:
            # The equation is kept alive so that its id stays unique.
            origins[id(eqn)] = (eqn, origin(eqn.source_info, jaxpr))
        return origins[id(eqn)][1]


@dataclass(frozen=True)
class _Surroundings:
    """What the steps in a scope have in common: what is around them.

    Args:
        places, vmaps: the calls in the user's code and their `vmap`s.
        branches: the branches of batched conds.
        running: for each loop under `vmap`, the rows that still run.
        taken: (cond, branch) where devices take several.
        path: the equations that entered the scope and those around it.
    """

    places: tuple[CallSite, ...]
    vmaps: int
    branches: list[BatchedBranch]
    running: list[np.ndarray]
    taken: frozenset[Any]
    path: tuple[PathStep, ...]


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
