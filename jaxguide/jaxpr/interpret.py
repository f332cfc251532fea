"""Run a jaxpr equation by equation on concrete values, and report each equation to an observer."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.compat.primitives import CALLS, COND, LOOPS, SCAN, WHILE


@dataclass(eq=False)
class Scope:
    """One run of one jaxpr: the values so far, and where it was called from.

    Args:
        jaxpr: the plain jaxpr.
        env: its values by variable.
        caller: the step that entered it; None for the outermost.
        iteration: the iteration of the loop; 0 outside loops.
        active: for a loop under `vmap`, bool[rows]: the rows that are still running; otherwise None.
    """

    jaxpr: Any
    env: dict[Any, Any]
    caller: "BoundEquation | None" = None
    iteration: int = 0
    active: np.ndarray | None = None

    def read(self, atom: Any) -> Any:
        """Return the value of a variable or literal; None if it was not computed."""
        return atom.val if is_literal(atom) else self.env.get(atom)


@dataclass(eq=False)
class BoundEquation:
    """One equation about to run: `eqn` with its `inputs`, in `scope`."""

    eqn: Any
    inputs: list[Any]
    scope: Scope = field(repr=False)

    def outward(self) -> "Iterator[BoundEquation]":
        """Yield this step, then the steps that entered its scope, innermost first."""
        step: BoundEquation | None = self
        while step is not None:
            yield step
            step = step.scope.caller


class Observer:
    """Base class of observers, which hear of each equation; override the methods you need.

    If `lazy` is set, only what the watched equations depend on is computed.
    """

    lazy = False

    def watches(self, eqn: Any) -> bool:
        """Return whether to report this equation or, for a call or a loop, whether to look inside it."""
        return True

    def enters(self, step: BoundEquation) -> bool:
        """Return whether to look inside this call or loop, rather than run it as a whole."""
        return True

    def before(self, step: BoundEquation) -> Sequence[Any] | None:
        """Hear of an equation before it runs; if outputs are returned, they are used and it does not run."""
        return None

    def after(self, step: BoundEquation, outputs: Sequence[Any]) -> None:
        """Hear of an equation's outputs."""


def run(
    jaxpr: Any, args: Sequence[Any], observer: Observer, caller: BoundEquation | None = None, *, wanted: bool = True
) -> list[Any]:
    """Run a `Jaxpr` or `ClosedJaxpr` on concrete `args` and return its outputs.

    Calls (jit, custom rules, checkpoint) and loops (scan, while, cond) are entered; everything else goes to
    `Primitive.bind`. Only the branch of a cond that is taken runs. With a lazy observer, outputs may be None.

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
    needed = None if wanted else (False,) * len(compat.jaxpr_parts(jaxpr)[0].outvars)
    return _Runner(observer).run(jaxpr, [jnp.asarray(arg) for arg in args], needed, caller)


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
    """Return whether `run` can look inside an equation; it cannot for `shard_map`, Pallas kernels and linear solves."""
    return called_jaxpr(eqn) is not None or eqn.primitive.name in LOOPS


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
    return np.asarray(xs[i]) if isinstance(xs, np.ndarray) else xs[i]


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _stacked(rows: list[Any]) -> Any:
    return jnp.stack(rows) if _is_key(rows[0]) else np.stack([np.asarray(row) for row in rows])


def _where_rows(active: np.ndarray, new: Any, old: Any) -> Any:
    """Take `new` in the active rows and `old` in the others, as a `while` under `vmap` does with its carry."""
    mask = active.reshape(active.shape + (1,) * (np.ndim(new) - active.ndim))
    return jnp.where(mask, new, old)


class _Runner:
    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._live: dict[tuple[Any, tuple[bool, ...]], tuple[Any, ...]] = {}

    def run(
        self,
        closed: Any,
        args: Sequence[Any],
        needed: Sequence[bool] | None,
        caller: BoundEquation | None = None,
        iteration: int = 0,
        active: np.ndarray | None = None,
    ) -> list[Any]:
        jaxpr, consts = compat.jaxpr_parts(closed)
        scope = Scope(jaxpr, {}, caller, iteration, active)
        scope.env.update(zip(jaxpr.constvars, consts, strict=True))
        scope.env.update(zip(jaxpr.invars, args, strict=True))
        wanted = (True,) * len(jaxpr.outvars) if needed is None or not self.observer.lazy else tuple(needed)
        for eqn, asked in self._plan(jaxpr, wanted):
            step = BoundEquation(eqn, [scope.read(atom) for atom in eqn.invars], scope)
            outputs = self._step(step, asked)
            scope.env.update(zip(eqn.outvars, outputs, strict=True))
        return [scope.read(atom) for atom in jaxpr.outvars]

    def _plan(self, jaxpr: Any, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """Return the equations to run, each with flags that say which of its outputs are needed."""
        if (jaxpr, wanted) not in self._live:
            if self.observer.lazy:
                plan = self._sliced(jaxpr, wanted)
            else:
                plan = tuple((eqn, (True,) * len(eqn.outvars)) for eqn in jaxpr.eqns)
            self._live[jaxpr, wanted] = plan
        return self._live[jaxpr, wanted]

    def _sliced(self, jaxpr: Any, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        needed = {v for v, keep in zip(jaxpr.outvars, wanted, strict=True) if keep and not is_literal(v)}
        plan = []
        for eqn in reversed(jaxpr.eqns):
            asked = tuple(v in needed for v in eqn.outvars)
            if any(asked) or self.observer.watches(eqn) or compat.touches_refs(eqn):
                needed.update(v for v in eqn.invars if not is_literal(v))
                plan.append((eqn, asked))
        return tuple(reversed(plan))

    def _step(self, step: BoundEquation, asked: tuple[bool, ...]) -> Sequence[Any]:
        eqn = step.eqn
        watched = self.observer.watches(eqn)
        outputs = self.observer.before(step) if watched else None
        if outputs is None:
            looks = watched and self.observer.enters(step)
            rule = self._rule(eqn) if looks else None
            if rule is not None:
                outputs = rule(step, asked)
            elif self.observer.lazy and not any(asked) and not compat.touches_refs(eqn):
                outputs = [None] * len(eqn.outvars)
            else:
                outputs = bind(eqn, step.inputs)
        if watched:
            self.observer.after(step, outputs)
        return outputs

    def _rule(self, eqn: Any) -> Callable[[BoundEquation, tuple[bool, ...]], Sequence[Any]] | None:
        if called_jaxpr(eqn) is not None:
            return self._call
        return {SCAN: self._scan, WHILE: self._while, COND: self._cond}.get(eqn.primitive.name)

    def _call(self, step: BoundEquation, asked: tuple[bool, ...]) -> list[Any]:
        return self.run(called_jaxpr(step.eqn), step.inputs, asked, step)

    def _cond(self, step: BoundEquation, asked: tuple[bool, ...]) -> list[Any]:
        branches = step.eqn.params["branches"]
        index = int(np.clip(np.asarray(step.inputs[0]).astype(np.int64), 0, len(branches) - 1))
        return self.run(branches[index], step.inputs[1:], asked, step)

    def _scan(self, step: BoundEquation, asked: tuple[bool, ...]) -> list[Any]:
        eqn = step.eqn
        consts_n, carry_n = scan_split(eqn)
        consts, carry = step.inputs[:consts_n], list(step.inputs[consts_n : consts_n + carry_n])
        scanned = [x if _is_key(x) else np.asarray(x) for x in step.inputs[consts_n + carry_n :]]
        length = eqn.params["length"]
        needed = (True,) * carry_n + asked[carry_n:]
        rows: list[list[Any]] = [[None] * length for _ in asked[carry_n:]]
        for count in range(length):
            i = length - 1 - count if eqn.params["reverse"] else count
            outs = self.run(
                eqn.params["jaxpr"], [*consts, *carry, *(_at(x, i) for x in scanned)], needed, step, iteration=count
            )
            carry = outs[:carry_n]
            for column, value in zip(rows, outs[carry_n:], strict=True):
                column[i] = value
        if length == 0:
            return list(bind(eqn, step.inputs))
        stacked = [
            _stacked(column) if keep or not self.observer.lazy else None
            for column, keep in zip(rows, asked[carry_n:], strict=True)
        ]
        return [*carry, *stacked]

    def _while(self, step: BoundEquation, asked: tuple[bool, ...]) -> list[Any]:
        params = step.eqn.params
        cond_n, body_n = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = step.inputs[:cond_n], step.inputs[cond_n : cond_n + body_n]
        carry = list(step.inputs[cond_n + body_n :])
        for iteration in itertools.count():
            (going,) = self.run(params["cond_jaxpr"], [*cond_consts, *carry], None, step, iteration=iteration)
            active = np.asarray(going)
            if not active.any():
                return carry
            rows = active if active.ndim else None
            new = self.run(params["body_jaxpr"], [*body_consts, *carry], None, step, iteration, rows)
            # Under `vmap`, finished rows keep their carry while the others continue.
            carry = new if rows is None else [_where_rows(rows, n, o) for n, o in zip(new, carry, strict=True)]
        raise AssertionError


def bind(eqn: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """Run one equation as JAX would, but without donating inputs, and return its outputs as a sequence."""
    params = eqn.params
    if any(params.get("donated_invars", ())):
        params = {**params, "donated_invars": (False,) * len(eqn.invars)}
    with eqn.ctx.manager:
        outputs = eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(params))
    return outputs if eqn.primitive.multiple_results else [outputs]
