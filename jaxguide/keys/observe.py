"""Run a program and log every key that it consumes."""

import contextlib
from collections.abc import Callable, Sequence, Set
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.compat.primitives import KEY_USES, LINEAR_SOLVE
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.batched_rows import BranchFinder, active_rows
from jaxguide.jaxpr.eager import run_eagerly
from jaxguide.jaxpr.stage import stage
from jaxguide.keys.events import Bits, Event, KeyLog, implementation, is_key, key_rows, key_words
from jaxguide.keys.generators import require_finished
from jaxguide.keys.key_record import KeyUse, Use
from jaxguide.keys.origins import Origin, origin
from jaxguide.keys.problems import find_problems

# `KEY_USES` has the primitives that consume, make or clone a key. Wrapping, unwrapping and moving a key are not uses.


def key_use(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> KeyUse:
    """Run `fn` on the given arguments and report each key that it draws from, splits or folds into.

    The program really runs, so only the branch of a `jax.lax.cond` that is taken is seen; a host callback runs only
    if a key depends on its result. Keys are told apart by their bits, so typed keys, legacy uint32 keys and all
    implementations work alike, also through containers, closures, jit, vmap, scan, while, cond, grad and checkpoint.
    `jax.random.clone` allows one more use. A function that needs real values while it is traced (a Python `if` on an
    array) is run without tracing.

    >>> import jax
    >>> def noise(key):
    ...     return jax.random.normal(key, (3,)) + jax.random.uniform(key, (3,))
    >>> [problem.kind for problem in key_use(noise, jax.random.key(0)).problems]
    ['drawn_twice']
    >>> [use.sampler for use in key_use(noise, jax.random.key(0)).uses]
    ['normal', 'uniform']

    Args:
        fn: any function, also jitted or vmapped. Arrays, keys and floats are traced; Python integers, strings,
            booleans and None are passed as they are, so that they can be shapes.
        args, kwargs: its arguments.

    Returns:
        The uses and the problems. If the program raises, there are no uses and `untraceable` is the exception's text.
    """
    try:
        log = observe_keys(fn, args, kwargs)
    except Exception as error:
        return KeyUse(untraceable=f"{type(error).__name__}: {error}")
    return KeyUse([event.use for event in log.events], find_problems(log.events))


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

    config: Any = jax.config  # mypy finds no settings on the type of JAX 0.10
    # JAX's own checker would count the uses of this run. If it is off already, leave it, so that JAX reuses its traces.
    with jax.debug_key_reuse(False) if config.jax_debug_key_reuse else contextlib.nullcontext():
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

    def __init__(self, log: KeyLog) -> None:
        self.log = log
        self._finder = BranchFinder()
        self._consuming: dict[Any, bool] = {}
        self._origins: dict[int, tuple[Any, Origin]] = {}

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

    def enters(self, step: interpret.BoundEquation) -> bool:
        """Look inside the user's calls and loops, but not inside those of samplers."""
        found = self._origin(step)
        if found.sampler is None and not interpret.can_enter(step.eqn):
            line = found.places[0].line if found.places else None
            self.log.unseen.setdefault((step.eqn.primitive.name, line))
        return found.sampler is None

    def before(self, step: interpret.BoundEquation) -> Sequence[Any] | None:
        """Log what a sampler or a single primitive is about to consume."""
        if step.eqn.primitive.name == LINEAR_SOLVE:
            return self._solve(step)
        kind = KEY_USES.get(step.eqn.primitive.name)
        sampler = self._origin(step).sampler
        if kind is None and sampler is None:
            return None
        if kind in (None, "draw") and _draws_nothing(step):
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
        branches = [branch for outer in step.outward() for branch in self._finder.branches(outer)]
        masks = [branch.active for branch in branches]
        masks += [outer.scope.active for outer in step.outward() if outer.scope.active is not None]
        active = active_rows(shape, masks).reshape(-1)
        rows = key_rows(bits)
        children = [()] * len(rows) if made is None else _children(made, len(rows))
        numbers = [None] * len(rows) if data is None else [int(n) for n in data.reshape(-1)]
        used = [i for i in range(len(rows)) if active[i] and rows[i] not in skip]
        origins = [self._origin(outer) for outer in step.outward()]
        # Each `vmap` that maps over the key gives it an axis: if one is missing, all rows get the same key.
        vmaps = sum(found.vmaps for found in origins)
        shared = vmaps > len(shape)
        tags: frozenset[Any] = frozenset()
        if branches and all(branch.shared for branch in branches) and len({(rows[i], numbers[i]) for i in used}) == 1:
            # JAX copied the single key of a cond under `vmap` to the rows, but a row draws in one branch only.
            shared = vmaps > 0 and len(used) > 1
            used = used[:1]
            tags = frozenset(branch.tag for branch in branches if branch.tag is not None)
        places = tuple(place for found in origins for place in found.places)
        number = places[0].line.number if places else None
        source = places[0].line.text() if places else None
        operation = self.log.next_operation()
        for i in used:
            use = Use(like.kind, rows[i], like.impl, number, source, like.sampler, numbers[i], like.count)
            self.log.events.append(Event(use, places, operation, children[i], tags, vmaps > 0, shared))

    def _origin(self, step: interpret.BoundEquation) -> Origin:
        eqn = step.eqn
        if id(eqn) not in self._origins:
            # The equation is kept alive so that its id stays unique.
            self._origins[id(eqn)] = (eqn, origin(eqn.source_info, step.scope.jaxpr))
        return self._origins[id(eqn)][1]


def _draws_nothing(step: interpret.BoundEquation) -> bool:
    """Return whether all arrays that an equation draws are empty."""
    shapes = [variable.aval.shape for variable in step.eqn.outvars]
    if not shapes:  # an operation of a function that is not traced
        inner = [compat.jaxpr_parts(jaxpr)[0] for jaxpr in interpret.inner_jaxprs(step.eqn)]
        shapes = [variable.aval.shape for jaxpr in inner for variable in jaxpr.outvars]
        shapes = shapes or [step.eqn.params.get("shape", np.shape(step.inputs[-1]))]
    return all(0 in shape for shape in shapes)


def _children(made: np.ndarray, parents: int) -> list[tuple[Bits, ...]]:
    """Return the keys made from each parent; the axes of a split come last."""
    flat = key_rows(made)
    each = len(flat) // max(parents, 1)
    return [tuple(flat[i * each : (i + 1) * each]) for i in range(parents)]
