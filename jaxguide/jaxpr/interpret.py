"""Run a jaxpr equation by equation on concrete values, and report each equation to an observer.

The devices of a `shard_map` run the same equations, so they run side by side: an equation runs for each device in turn
before the next one starts, and a collective sees the values of all. Outside of a `shard_map`, there is one.
"""

import contextlib
import copy
import functools
import itertools
import operator
import sys
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxguide import compat
from jaxguide.compat import collectives
from jaxguide.compat.primitives import CALLS, COND, LOOPS, SCAN, WHILE
from jaxguide.jaxpr.devices import Shards, is_key_array, stacked, without_mesh


@dataclass(eq=False)
class Scope:
    """One run of one jaxpr: the values so far, and where it was called from.

    Args:
        jaxpr: the plain jaxpr.
        env: its values by variable.
        caller: the step that entered it; None for the outermost.
        iteration: the iteration of the loop; 0 outside loops.
        active: for a loop under `vmap`, bool[rows]: the rows that are still running; otherwise None.
        branch: (cond, branch) if the devices of a `shard_map` take several branches of a cond; otherwise None.
        shards: inside a `shard_map`, how it divides its arrays; otherwise None.
        number: tells it from all others.
    """

    jaxpr: Any
    env: dict[Any, Any]
    caller: "BoundEquation | None" = None
    iteration: int = 0
    active: np.ndarray | None = None
    branch: tuple[object, int] | None = None
    shards: Shards | None = None
    number: int = field(default_factory=itertools.count().__next__)

    def read(self, atom: Any) -> Any:
        """Return the value of a variable or literal; None if it was not computed."""
        if not is_literal(atom):
            return self.env.get(atom)
        return atom.val if self.shards is None else without_mesh(atom.val, atom.aval.dtype)


@dataclass(eq=False)
class BoundEquation:
    """One equation about to run: `eqn` with its `inputs`, in `scope`.

    Args:
        eqn, inputs, scope: the equation, its inputs, and where it runs.
        device: inside a `shard_map`, the number of the device that runs it.
        peers: inside a `shard_map`, the steps of all devices that run it side by side; all of them have this list.
    """

    eqn: Any
    inputs: list[Any]
    scope: Scope = field(repr=False)
    device: int | None = None
    peers: "list[BoundEquation] | None" = field(default=None, repr=False)

    def outward(self) -> "Iterator[BoundEquation]":
        """Yield this step, then the steps that entered its scope, innermost first."""
        step: BoundEquation | None = self
        while step is not None:
            yield step
            step = step.scope.caller


# For each choice of wanted outputs: the equations to run, with flags for their outputs, and which inputs they need.
KeptPlans = dict[tuple[bool, ...], tuple[tuple[Any, ...], tuple[bool, ...]]]


class Observer:
    """Base class of observers, which hear of each equation; override the methods you need.

    If `lazy` is set, only what the watched equations depend on is computed. If `watches` and `reads` depend on nothing
    but their arguments, `plans` may be a dictionary with weak keys that keeps what they decide for the next run.
    """

    lazy = False
    plans: ClassVar[MutableMapping[Any, KeptPlans] | None] = None

    def watches(self, eqn: Any) -> bool:
        """Return whether to report this equation or, for a call or a loop, whether to look inside it."""
        return True

    def enters(self, step: BoundEquation) -> bool:
        """Return whether to look inside this call or loop, rather than run it as a whole."""
        return True

    def reads(self, eqn: Any, jaxpr: Any, asked: Sequence[bool]) -> Sequence[bool] | None:
        """Return which inputs of an equation a lazy observer needs, given which outputs are asked for.

        None for a call or a loop that it looks inside, of which only what the inner equations need is computed.
        """
        return (True,) * len(eqn.invars)

    def before(self, step: BoundEquation) -> Sequence[Any] | None:
        """Hear of an equation before it runs; if outputs are returned, they are used and it does not run."""
        return None

    def after(self, step: BoundEquation, outputs: Sequence[Any]) -> None:
        """Hear of an equation's outputs."""

    def unseen(self, step: BoundEquation) -> None:
        """Hear of a `shard_map` whose body cannot be looked into, or only in part, before it runs as a whole."""

    def most_iterations(self, step: BoundEquation) -> int:
        """Return how many iterations of a scan or while to report; all others run compiled."""
        return sys.maxsize

    def cut(self, step: BoundEquation, followed: int, count: int, left: Sequence[Any]) -> None:
        """Hear of a loop of which only the first of `count` iterations were reported.

        Args:
            step: the loop.
            followed: the number of iterations that were reported.
            count: the number of iterations.
            left: what the next iteration started with: the carry, and what was still to be scanned over.
        """


def run(
    jaxpr: Any, args: Sequence[Any], observer: Observer, caller: BoundEquation | None = None, *, wanted: bool = True
) -> list[Any]:
    """Run a `Jaxpr` or `ClosedJaxpr` on concrete `args` and return its outputs.

    Calls (jit, custom rules, checkpoint), loops (scan, while, cond) and `shard_map` are entered; everything else goes
    to `Primitive.bind`. Only the branch of a cond that is taken runs. With a lazy observer, outputs may be None.

    >>> import jax
    >>> closed = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
    >>> [float(y) for y in run(closed, [0.0], Observer())]
    [0.0]

    Args:
        jaxpr: what `jax.make_jaxpr` returns.
        args: one value for each of its inputs.
        observer: hears of every equation that it watches.
        caller: the step that this run belongs to, if it is part of another run.
        wanted: whether the outputs are needed; if not, a run with a lazy observer does only what it watches.
    """
    asked = (wanted or not observer.lazy,) * len(compat.jaxpr_parts(jaxpr)[0].outvars)
    values = [arg if isinstance(arg, jax.Ref) else jnp.asarray(arg) for arg in args]
    (outputs,) = _Runner(observer).run(jaxpr, [values], asked, [caller])
    return outputs


def is_literal(atom: Any) -> bool:
    """Return whether an input of an equation is a literal rather than a variable.

    The classes have public names, but importing `jax.extend` for them takes 20 to 27 ms (JAX 0.10.2 to 0.12.0.1).
    """
    return hasattr(atom, "val")


def inner_jaxprs(eqn: Any) -> list[Any]:
    """Return the jaxprs in an equation's parameters (bodies, branches, called functions), in order."""
    values = (value if isinstance(value, tuple | list) else (value,) for value in eqn.params.values())
    return [item for items in values for item in items if hasattr(item, "eqns")]


def called_jaxpr(eqn: Any) -> Any | None:
    """Return the jaxpr that an equation calls, if it does nothing else; otherwise None."""
    if eqn.primitive.name not in CALLS:
        return None
    names = ("call_jaxpr", "jaxpr", "fun_jaxpr", "call")
    return next((eqn.params[name] for name in names if name in eqn.params), None)


def can_enter(eqn: Any) -> bool:
    """Return whether `run` always looks inside an equation if told to: a call or a loop."""
    return called_jaxpr(eqn) is not None or eqn.primitive.name in LOOPS


def shards_of(eqn: Any) -> Shards | None:
    """Return how an equation divides its arrays; None unless it is a `shard_map` whose body `run` can look into."""
    found = collectives.divisions(eqn)
    return None if found is None or not all(map(_can_run, inner_jaxprs(eqn))) else Shards(*found)


def _can_run(closed: Any) -> bool:
    for eqn in compat.jaxpr_parts(closed)[0].eqns:
        if eqn.primitive.name in collectives.SHARD_MAPS:
            return False
        if collectives.mentions_axes(eqn) and not can_enter(eqn) and not collectives.is_known(eqn):
            return False
        if not all(map(_can_run, inner_jaxprs(eqn))):
            return False
    return True


def scan_split(eqn: Any) -> tuple[int, int]:
    """Return how many inputs of a scan are constants and how many are carried; the others are scanned over.

    Found from ranks (a scanned input has one more axis than the body's), because parameter names changed in JAX 0.11.
    """
    body, _ = compat.jaxpr_parts(eqn.params["jaxpr"])

    def scanned(outer: Sequence[Any], inner: Sequence[Any]) -> int:
        return sum(a.aval.ndim == b.aval.ndim + 1 for a, b in zip(outer, inner, strict=True))

    carried = len(eqn.outvars) - scanned(eqn.outvars, body.outvars)
    return len(eqn.invars) - scanned(eqn.invars, body.invars) - carried, carried


def _at(xs: Any, i: int) -> Any:
    if xs is None:
        return None
    return np.asarray(xs[i]) if isinstance(xs, np.ndarray) else xs[i]


def _where_rows(active: np.ndarray, new: Any, old: Any) -> Any:
    """Take `new` in the active rows and `old` in the others, as a `while` under `vmap` does with its carry."""
    if new is None or old is None:  # not needed
        return None
    mask = active.reshape(active.shape + (1,) * (np.ndim(new) - active.ndim))
    return jnp.where(mask, new, old)


def _typed(values: Sequence[Any], atoms: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """Return the values that are needed as arrays of their atoms' types, which are never weak; None for the others."""
    return [
        None if not keep else value if is_key_array(value) else lax.convert_element_type(value, atom.aval.dtype)
        for value, atom, keep in zip(values, atoms, needed, strict=True)
    ]


Steps = Sequence[BoundEquation]


class _Runner:
    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._plans: MutableMapping[Any, KeptPlans] = {} if observer.plans is None else observer.plans
        self._rests: dict[Any, Callable[[Sequence[Any]], tuple[Any, list[Any]]]] = {}
        self._heard = True  # whether the observer hears of the equations

    def _unheard(self) -> "_Runner":
        other = copy.copy(self)
        other._heard = False
        return other

    def run(
        self,
        closed: Any,
        columns: Sequence[Sequence[Any]],
        wanted: Sequence[bool],
        callers: Sequence[BoundEquation | None],
        *,
        iteration: int = 0,
        active: Sequence[np.ndarray | None] = (None,),
        branch: tuple[object, int] | None = None,
        shards: Shards | None = None,
    ) -> list[list[Any]]:
        """Run a jaxpr for each caller, side by side, and return the outputs of each.

        Args:
            closed: the jaxpr.
            columns: the inputs of each caller.
            wanted: which outputs are needed.
            callers: the steps that enter it, one for each device inside a `shard_map`.
            iteration, active, branch: see `Scope`; `active` is that of each caller.
            shards: how a `shard_map` divides its arrays, if this is its body.
        """
        jaxpr, consts = compat.jaxpr_parts(closed)
        scopes = []
        for column, caller, rows in zip(columns, callers, itertools.cycle(active), strict=False):
            inside = shards or (caller.scope.shards if caller is not None else None)
            scope = Scope(jaxpr, {}, caller, iteration, rows, branch, inside)
            scope.env.update(zip(jaxpr.constvars, consts if inside is None else map(without_mesh, consts), strict=True))
            scope.env.update(zip(jaxpr.invars, column, strict=True))
            scopes.append(scope)
        for eqn, asked in self._planned(jaxpr, tuple(wanted))[0]:
            steps = [
                BoundEquation(eqn, [scope.read(atom) for atom in eqn.invars], scope, caller.device if caller else None)
                for scope, caller in zip(scopes, callers, strict=True)
            ]
            if scopes[0].shards is not None:
                for step in steps:
                    step.peers = steps
            for scope, outs in zip(scopes, self._equation(eqn, steps, asked), strict=True):
                scope.env.update(zip(eqn.outvars, outs, strict=True))
        return [[scope.read(atom) for atom in jaxpr.outvars] for scope in scopes]

    def _planned(self, jaxpr: Any, wanted: tuple[bool, ...]) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
        """Return the equations to run with flags that say which of their outputs are needed, and the needed inputs."""
        plans = self._plans.setdefault(jaxpr, {})
        if wanted not in plans:
            if self.observer.lazy:
                plans[wanted] = self._sliced(jaxpr, wanted)
            else:
                plan = tuple((eqn, (True,) * len(eqn.outvars)) for eqn in jaxpr.eqns)
                plans[wanted] = plan, (True,) * len(jaxpr.invars)
        return plans[wanted]

    def _inputs(self, closed: Any, wanted: Sequence[bool]) -> tuple[bool, ...]:
        """Return which inputs of a jaxpr are needed."""
        return self._planned(compat.jaxpr_parts(closed)[0], tuple(wanted))[1]

    def carried(self, eqn: Any, asked: Sequence[bool]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Return which inputs of a scan or while are needed, and which outputs of its body."""
        if eqn.primitive.name == SCAN:
            consts_n, carry_n = scan_split(eqn)
            carry, each = tuple(asked[:carry_n]), tuple(asked[carry_n:])
            while True:
                flags = self._inputs(eqn.params["jaxpr"], carry + each)
                grown = tuple(map(operator.or_, carry, flags[consts_n : consts_n + carry_n]))
                if grown == carry:
                    return (*flags[:consts_n], *carry, *flags[consts_n + carry_n :]), carry + each
                carry = grown
        cond_n, body_n = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        tested = self._inputs(eqn.params["cond_jaxpr"], (True,))
        carry = tuple(map(operator.or_, asked, tested[cond_n:]))
        while True:
            flags = self._inputs(eqn.params["body_jaxpr"], carry)
            grown = tuple(map(operator.or_, carry, flags[body_n:]))
            if grown == carry:
                return (*tested[:cond_n], *flags[:body_n], *carry), carry
            carry = grown

    def _needs(self, eqn: Any, jaxpr: Any, asked: tuple[bool, ...]) -> Sequence[bool]:
        """Return which inputs of an equation are needed."""
        everything = (True,) * len(eqn.invars)
        if compat.touches_refs(eqn) or not self.observer.watches(eqn):
            return everything
        read = self.observer.reads(eqn, jaxpr, asked)
        if read is not None:
            return read
        if called_jaxpr(eqn) is not None:
            return self._inputs(called_jaxpr(eqn), asked)
        if eqn.primitive.name in (SCAN, WHILE):
            return self.carried(eqn, asked)[0]
        if eqn.primitive.name == COND:
            flags = [self._inputs(branch, asked) for branch in eqn.params["branches"]]
            return (True, *map(any, zip(*flags, strict=True)))
        return everything

    def _sliced(self, jaxpr: Any, wanted: tuple[bool, ...]) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
        needed = {v for v, keep in zip(jaxpr.outvars, wanted, strict=True) if keep and not is_literal(v)}
        plan = []
        for eqn in reversed(jaxpr.eqns):
            asked = tuple(v in needed for v in eqn.outvars)
            if any(asked) or self.observer.watches(eqn) or compat.touches_refs(eqn):
                flags = self._needs(eqn, jaxpr, asked)
                needed.update(v for v, flag in zip(eqn.invars, flags, strict=True) if flag and not is_literal(v))
                plan.append((eqn, asked))
        return tuple(reversed(plan)), tuple(v in needed for v in jaxpr.invars)

    def _equation(self, eqn: Any, steps: Steps, asked: tuple[bool, ...]) -> Sequence[Sequence[Any]]:
        watched = self._heard and self.observer.watches(eqn)
        outputs: Sequence[Any] = [self.observer.before(step) for step in steps] if watched else [None] * len(steps)
        if any(out is None for out in outputs):
            looks = watched and all(self.observer.enters(step) for step in steps)
            rule = self._rule(eqn)
            if rule is not None and looks:
                outputs = rule(self, steps, asked)
            elif self.observer.lazy and not any(asked) and not compat.touches_refs(eqn):
                outputs = [[None] * len(eqn.outvars)] * len(steps)
            elif rule is not None and steps[0].scope.shards is not None:  # there may be collectives in it
                outputs = rule(self._unheard(), steps, asked)
            elif rule is not None and not self._heard and self.observer.watches(eqn):  # some inputs may be missing
                outputs = [self._traced(eqn, steps[0].inputs, asked)]
            else:
                outputs = self._leaf(eqn, steps)
        if watched:
            for step, outs in zip(steps, outputs, strict=True):
                self.observer.after(step, outs)
        return outputs

    def _leaf(self, eqn: Any, steps: Steps) -> Sequence[Sequence[Any]]:
        shards = steps[0].scope.shards
        if shards is None or not collectives.mentions_axes(eqn):
            return [bind(eqn, step.inputs) for step in steps]
        outputs = shards.collective(eqn, {step.device or 0: step.inputs for step in steps})
        return [outputs[step.device or 0] for step in steps]

    def _rule(self, eqn: Any) -> Callable[..., Sequence[Sequence[Any]]] | None:
        if called_jaxpr(eqn) is not None:
            return _Runner._call
        if eqn.primitive.name in collectives.SHARD_MAPS:
            return _Runner._devices
        return {SCAN: _Runner._scan, WHILE: _Runner._while, COND: _Runner._cond}.get(eqn.primitive.name)

    def _devices(self, steps: Steps, asked: tuple[bool, ...]) -> Sequence[Sequence[Any]]:
        (step,) = steps  # `shards_of` finds none for a `shard_map` in another
        shards = shards_of(step.eqn)
        if shards is not None:
            # Fails for a collective that only some devices run, or that does not work under `jax.vmap`.
            with contextlib.suppress(Exception):
                return [self._sharded(step, shards, asked)]
        self.observer.unseen(step)
        needed = any(asked) or not self.observer.lazy or compat.touches_refs(step.eqn)
        return [bind(step.eqn, step.inputs) if needed else [None] * len(asked)]

    def _sharded(self, step: BoundEquation, shards: Shards, asked: tuple[bool, ...]) -> list[Any]:
        devices = range(len(shards.devices()))
        callers = [BoundEquation(step.eqn, step.inputs, step.scope, device) for device in devices]
        given = [shards.divided(x, parts) for x, parts in zip(step.inputs, shards.inputs, strict=True)]
        columns = [[parts[device] for parts in given] for device in devices]
        outs = self.run(inner_jaxprs(step.eqn)[0], columns, asked, callers, shards=shards)
        return [
            shards.joined([column[i] for column in outs], parts) if keep else None
            for i, (parts, keep) in enumerate(zip(shards.outputs, asked, strict=True))
        ]

    def _call(self, steps: Steps, asked: tuple[bool, ...]) -> Sequence[Sequence[Any]]:
        return self.run(called_jaxpr(steps[0].eqn), [step.inputs for step in steps], asked, steps)

    def _cond(self, steps: Steps, asked: tuple[bool, ...]) -> Sequence[Sequence[Any]]:
        branches = steps[0].eqn.params["branches"]
        taken = [int(np.clip(np.asarray(step.inputs[0]).astype(np.int64), 0, len(branches) - 1)) for step in steps]
        outputs: list[Any] = [None] * len(steps)
        this = object()
        for number in sorted(set(taken)):
            members = [i for i, index in enumerate(taken) if index == number]
            chosen = [steps[i] for i in members]
            mark = (this, number) if len(chosen) < len(steps) else None
            inputs = [step.inputs[1:] for step in chosen]
            outs = self.run(branches[number], inputs, asked, chosen, branch=mark)
            for i, out in zip(members, outs, strict=True):
                outputs[i] = out
        return outputs

    def _scan(self, steps: Steps, asked: tuple[bool, ...]) -> Sequence[Sequence[Any]]:
        eqn = steps[0].eqn
        consts_n, carry_n = scan_split(eqn)
        length = eqn.params["length"]
        carries = [list(step.inputs[consts_n : consts_n + carry_n]) for step in steps]
        scanned = [
            [x if x is None or is_key_array(x) else np.asarray(x) for x in step.inputs[consts_n + carry_n :]]
            for step in steps
        ]
        _flags, needed = self.carried(eqn, asked)
        rows: list[list[list[Any]]] = [[[] for _ in asked[carry_n:]] for _ in steps]
        runner, most = self, self.observer.most_iterations(steps[0])
        for count in range(length):
            if runner._heard and count == most:
                rest = slice(length - count) if eqn.params["reverse"] else slice(count, length)
                left = [[None if x is None else x[rest] for x in xs] for xs in scanned]
                for step, carry, xs in zip(steps, carries, left, strict=True):
                    self.observer.cut(step, count, length, [*carry, *xs])
                if steps[0].scope.shards is None:
                    inputs = [*steps[0].inputs[:consts_n], *carries[0], *left[0]]
                    return [self._rest_of_scan(eqn, asked, inputs, rows[0], length - count)]
                runner = self._unheard()
            i = length - 1 - count if eqn.params["reverse"] else count
            columns = [
                [*step.inputs[:consts_n], *carry, *(_at(x, i) for x in xs)]
                for step, carry, xs in zip(steps, carries, scanned, strict=True)
            ]
            outs = runner.run(eqn.params["jaxpr"], columns, needed, steps, iteration=count)
            carries = [out[:carry_n] for out in outs]
            for row, out in zip(rows, outs, strict=True):
                for column, value in zip(row, out[carry_n:], strict=True):
                    column.append(value)
        return [[*carry, *self._gathered(eqn, asked, row)] for carry, row in zip(carries, rows, strict=True)]

    def _gathered(self, eqn: Any, asked: Sequence[bool], rows: Sequence[list[Any]]) -> list[Any]:
        """Return the outputs of a scan's iterations, which are in the order in which they ran, as arrays."""
        found: list[Any] = []
        carry_n = len(asked) - len(rows)
        for variable, keep, column in zip(eqn.outvars[carry_n:], asked[carry_n:], rows, strict=True):
            if not keep or any(value is None for value in column):
                found.append(None)
            elif column:
                found.append(stacked(column[::-1] if eqn.params["reverse"] else column))
            else:
                found.append(jnp.zeros(variable.aval.shape, variable.aval.dtype))
        return found

    def _rest_of_scan(
        self, eqn: Any, asked: tuple[bool, ...], inputs: Sequence[Any], rows: Sequence[list[Any]], count: int
    ) -> list[Any]:
        """Run the last iterations of a scan, and return the outputs of all, given those of the others in `rows`."""
        if not any(asked) and not compat.touches_refs(eqn):
            return [None] * len(asked)
        _, outputs = self._rest(eqn, asked, inputs, count)
        carry_n = len(asked) - len(rows)
        each = []
        for before, after in zip(self._gathered(eqn, asked, rows), outputs[carry_n:], strict=True):
            parts = [after, before] if eqn.params["reverse"] else [before, after]
            each.append(None if before is None else jnp.concatenate(parts))
        return [*outputs[:carry_n], *each]

    def _while(self, steps: Steps, asked: tuple[bool, ...]) -> Sequence[Sequence[Any]]:
        eqn = steps[0].eqn
        cond_n, body_n = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        carries = [list(step.inputs[cond_n + body_n :]) for step in steps]
        going = list(range(len(steps)))
        _flags, needed = self.carried(eqn, asked)
        runner, most = self, self.observer.most_iterations(steps[0])
        left: list[list[Any]] = []
        for iteration in itertools.count():
            columns = [[*steps[i].inputs[:cond_n], *carries[i]] for i in going]
            callers = [steps[i] for i in going]
            tested = runner.run(eqn.params["cond_jaxpr"], columns, (True,), callers, iteration=iteration)
            active = {i: np.asarray(more) for i, (more,) in zip(going, tested, strict=True)}
            going = [i for i in going if active[i].any()]
            if runner._heard and going and iteration == most:
                left, runner = [list(carry) for carry in carries], self._unheard()
                if steps[0].scope.shards is None:
                    count, carry = self._rest(eqn, asked, [*steps[0].inputs[: cond_n + body_n], *carries[0]])
                    self.observer.cut(steps[0], iteration, iteration + int(count), left[0])
                    return [carry]
            if not going:
                for step, carry in zip(steps, left, strict=False):
                    self.observer.cut(step, most, iteration, carry)
                return carries
            rows = [active[i] if active[i].ndim else None for i in going]
            columns = [[*steps[i].inputs[cond_n : cond_n + body_n], *carries[i]] for i in going]
            callers = [steps[i] for i in going]
            outs = runner.run(eqn.params["body_jaxpr"], columns, needed, callers, iteration=iteration, active=rows)
            for i, mask, new in zip(going, rows, outs, strict=True):
                # Under `vmap`, finished rows keep their carry while the others continue.
                old = carries[i]
                carries[i] = new if mask is None else [_where_rows(mask, n, o) for n, o in zip(new, old, strict=True)]
        raise AssertionError

    def _rest(
        self, eqn: Any, asked: tuple[bool, ...], inputs: Sequence[Any], count: int | None = None
    ) -> tuple[Any, list[Any]]:
        """Run the last iterations of a loop outside of a `shard_map`, compiled, and return their number and outputs."""
        name = id(eqn), asked, count
        if name not in self._rests:
            traced = self._traced_while if count is None else self._traced_scan
            self._rests[name] = jax.jit(functools.partial(traced, eqn, asked, count=count))
        return self._rests[name](inputs)

    def _traced(self, eqn: Any, inputs: Sequence[Any], asked: tuple[bool, ...]) -> Sequence[Any]:
        """Run an equation that is watched, without the observer, while it is traced."""
        if called_jaxpr(eqn) is not None:
            return self._traced_call(called_jaxpr(eqn), inputs, asked)
        if eqn.primitive.name == SCAN:
            return self._traced_scan(eqn, asked, inputs, eqn.params["length"])[1]
        if eqn.primitive.name == WHILE:
            return self._traced_while(eqn, asked, inputs)[1]
        if eqn.primitive.name == COND:
            branches = [functools.partial(self._traced_call, branch, wanted=asked) for branch in eqn.params["branches"]]
            return list(lax.switch(jnp.asarray(inputs[0]).astype(jnp.int32), branches, list(inputs[1:])))
        return bind(eqn, inputs)

    def _traced_call(self, closed: Any, inputs: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        (outputs,) = self._unheard().run(closed, [inputs], wanted, [None])
        return _typed(outputs, compat.jaxpr_parts(closed)[0].outvars, wanted)

    def _traced_scan(
        self, eqn: Any, asked: tuple[bool, ...], inputs: Sequence[Any], count: int | None
    ) -> tuple[Any, list[Any]]:
        consts_n, carry_n = scan_split(eqn)
        _flags, needed = self.carried(eqn, asked)

        def body(carry: list[Any], xs: list[Any]) -> tuple[list[Any], list[Any]]:
            outputs = self._traced_call(eqn.params["jaxpr"], [*inputs[:consts_n], *carry, *xs], needed)
            return outputs[:carry_n], outputs[carry_n:]

        end = consts_n + carry_n
        start = _typed(inputs[consts_n:end], eqn.invars[consts_n:end], needed[:carry_n])
        carry, each = lax.scan(body, start, list(inputs[end:]), length=count, reverse=eqn.params["reverse"])
        return count, [*carry, *each]

    def _traced_while(
        self, eqn: Any, asked: tuple[bool, ...], inputs: Sequence[Any], count: int | None = None
    ) -> tuple[Any, list[Any]]:
        cond_n, body_n = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        _flags, needed = self.carried(eqn, asked)

        def test(carry: list[Any]) -> Any:
            return self._traced_call(eqn.params["cond_jaxpr"], [*inputs[:cond_n], *carry], (True,))[0]

        def body(state: tuple[Any, Any, list[Any]]) -> tuple[Any, Any, list[Any]]:
            number, going, old = state
            new = self._traced_call(eqn.params["body_jaxpr"], [*inputs[cond_n : cond_n + body_n], *old], needed)
            carry = [_where_rows(going, n, o) for n, o in zip(new, old, strict=True)] if going.ndim else new
            return number + 1, test(carry), carry

        start = _typed(inputs[cond_n + body_n :], eqn.invars[cond_n + body_n :], needed)
        number, _, carry = lax.while_loop(lambda state: state[1].any(), body, (0, test(start), start))
        return number, carry


def bind(eqn: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """Run one equation as JAX would, but without donating inputs, and return its outputs as a sequence."""
    params = eqn.params
    if any(params.get("donated_invars", ())):
        params = {**params, "donated_invars": (False,) * len(eqn.invars)}
    with collectives.equation_context(eqn):
        outputs = eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(params))
    return outputs if eqn.primitive.multiple_results else [outputs]
