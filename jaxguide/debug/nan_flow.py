"""Follow values through a program with its calls and loops opened: what made a value, and what uses it."""

from collections.abc import Collection, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.code.lines import Line, lines_of_equation, user_frames
from jaxguide.compat import collectives
from jaxguide.compat.primitives import BROADCAST_IN_DIM, COND, MOVES, SCAN, STOP_GRADIENT, WHILE
from jaxguide.jaxpr import interpret

# Operations that pass each value on, perhaps to another place. Those of loops and `shard_map` are not in the jaxpr: a
# slice of what a loop scans over, a value that it carries, a device's part of an array or the array of all parts.
_SLICED, CARRIED, _SHARD = "scan_slice", "loop_carry", "shard"
_IN_JAXPRS = frozenset({"transpose", "slice", STOP_GRADIENT, "optimization_barrier", "reduce_precision"})
TRANSPARENT = MOVES | _IN_JAXPRS | collectives.CASTS | {_SLICED, _SHARD}
_MOST_OPERATIONS = 100_000
_MOST_USES = 300

Path = tuple[int, ...]


class ProgramValue:
    """A value of the program: the operation that makes it, those that use it, and its variables."""

    def __init__(self, literal: Any = None) -> None:
        self.maker: Operation | None = None
        self.users: list[Operation] = []
        self.homes: list[tuple[Path, Any]] = []
        self.literal = literal


class Operation:
    """An equation in one of the calls or loops in which it runs."""

    def __init__(
        self,
        name: str,
        eqn: Any,
        path: Path,
        around: tuple[Any, ...],
        inputs: list[ProgramValue],
        outputs: list[ProgramValue],
    ) -> None:
        self.name, self.eqn, self.path, self.around = name, eqn, path, around
        self.inputs, self.outputs = inputs, outputs
        for place in inputs:
            place.users.append(self)
        for place in outputs:
            place.maker = self

    @property
    def line(self) -> Line | None:
        """Return the user's line behind it."""
        for eqn in (self.eqn, *reversed(self.around)):
            lines = lines_of_equation(eqn.source_info)
            if lines:
                return lines[0]
        return None

    @property
    def spot(self) -> tuple[Any, int] | None:
        """Return the user's innermost code and instruction behind it."""
        for eqn in (self.eqn, *reversed(self.around)):
            frames = user_frames(compat.traceback_frames(eqn.source_info))
            if frames:
                return frames[0]
        return None

    @property
    def transposed(self) -> bool:
        """Return whether it belongs to the backward pass of a gradient."""
        return "transpose(" in "".join(str(eqn.source_info.name_stack) for eqn in (*self.around, self.eqn))


class ValueFlow:
    """The operations of a program around a running step, whose values can still be read.

    Args:
        step: the step.
    """

    def __init__(self, step: interpret.BoundEquation) -> None:
        chain = list(step.outward())
        self._operations: dict[tuple[Path, int], Operation] = {}
        self._scopes = {_path(chain[i + 1 :]): one.scope for i, one in enumerate(chain)}
        top = chain[-1].scope.jaxpr
        self._add(top, {variable: ProgramValue() for variable in (*top.constvars, *top.invars)}, (), ())
        self.operation = self._operations.get((_path(chain[1:]), id(step.eqn)))

    @property
    def operations(self) -> list[Operation]:
        """Return all operations in program order."""
        return list(self._operations.values())

    @property
    def differentiates(self) -> bool:
        """Return whether the program has the backward pass of a gradient."""
        return any(operation.transposed for operation in self._operations.values())

    def value(self, place: ProgramValue) -> Any:
        """Return the value at the time of the step as an array; None if it is not known any more."""
        if place.literal is not None:
            return np.asarray(place.literal)
        for path, variable in place.homes:
            scope = self._scopes.get(path)
            found = None if scope is None else scope.read(variable)
            if found is not None:
                try:
                    return np.asarray(found)
                except TypeError:  # a key
                    return None
        maker = place.maker
        if maker is not None and maker.name == BROADCAST_IN_DIM and len(maker.inputs) == 1:
            inner, params = self.value(maker.inputs[0]), maker.eqn.params
            if inner is not None:
                sizes = dict(zip(params["broadcast_dimensions"], inner.shape, strict=True))
                spread = inner.reshape([sizes.get(axis, 1) for axis in range(len(params["shape"]))])
                return np.broadcast_to(spread, params["shape"])
        return None

    def _add(self, jaxpr: Any, env: dict[Any, ProgramValue], path: Path, around: tuple[Any, ...]) -> list[ProgramValue]:
        for variable, place in env.items():
            place.homes.append((path, variable))
        if len(self._operations) > _MOST_OPERATIONS:
            return [ProgramValue() for _ in jaxpr.outvars]

        def read(atom: Any) -> ProgramValue:
            if interpret.is_literal(atom):
                return ProgramValue(atom.val)
            return env.setdefault(atom, ProgramValue())

        for eqn in jaxpr.eqns:
            inputs = [read(atom) for atom in eqn.invars]
            outputs = self._open(eqn, inputs, path, around)
            if outputs is None:
                outputs = [ProgramValue() for _ in eqn.outvars]
                operation = Operation(eqn.primitive.name, eqn, path, around, inputs, outputs)
                self._operations[path, id(eqn)] = operation
            for variable, place in zip(eqn.outvars, outputs, strict=True):
                env[variable] = place
                place.homes.append((path, variable))
        return [read(atom) for atom in jaxpr.outvars]

    def _open(
        self, eqn: Any, inputs: list[ProgramValue], path: Path, around: tuple[Any, ...]
    ) -> list[ProgramValue] | None:
        def inner(closed: Any, places: list[ProgramValue]) -> list[ProgramValue]:
            body, consts = compat.jaxpr_parts(closed)
            env = dict(zip([*body.constvars, *body.invars], [*map(ProgramValue, consts), *places], strict=True))
            return self._add(body, env, (*path, id(eqn)), (*around, eqn))

        def joined(name: str, places: list[ProgramValue]) -> ProgramValue:
            found = ProgramValue()
            Operation(name, eqn, path, around, places, [found])
            return found

        name, params = eqn.primitive.name, eqn.params
        called = interpret.called_jaxpr(eqn)
        if called is not None:
            return inner(called, inputs)
        if name in collectives.SHARD_MAPS:
            outputs = inner(interpret.inner_jaxprs(eqn)[0], [joined(_SHARD, [place]) for place in inputs])
            return [joined(_SHARD, [place]) for place in outputs]
        if name == COND:
            branches = [inner(branch, inputs[1:]) for branch in params["branches"]]
            return [joined(COND, list(places)) for places in zip(*branches, strict=True)]
        if name == SCAN:
            consts_n, carry_n = interpret.scan_split(eqn)
            carried = [joined(CARRIED, [place]) for place in inputs[consts_n : consts_n + carry_n]]
            sliced = [joined(_SLICED, [place]) for place in inputs[consts_n + carry_n :]]
            outputs = inner(params["jaxpr"], [*inputs[:consts_n], *carried, *sliced])
            return self._carry(carried, outputs[:carry_n]) + outputs[carry_n:]
        if name == WHILE:
            cond_n, body_n = params["cond_nconsts"], params["body_nconsts"]
            carried = [joined(CARRIED, [place]) for place in inputs[cond_n + body_n :]]
            inner(params["cond_jaxpr"], [*inputs[:cond_n], *carried])
            return self._carry(carried, inner(params["body_jaxpr"], [*inputs[cond_n : cond_n + body_n], *carried]))
        return None

    @staticmethod
    def _carry(carried: list[ProgramValue], outputs: list[ProgramValue]) -> list[ProgramValue]:
        for place, output in zip(carried, outputs, strict=True):
            assert place.maker is not None
            place.maker.inputs.append(output)
            output.users.append(place.maker)
        return outputs


def _path(chain: list[interpret.BoundEquation]) -> Path:
    return tuple(id(step.eqn) for step in reversed(chain))


def source(place: ProgramValue, through: Collection[str] = TRANSPARENT) -> ProgramValue:
    """Return where a value comes from before operations that only pass it on."""
    for _ in range(100):
        if place.maker is None or place.maker.name not in through or not place.maker.inputs:
            break
        place = place.maker.inputs[0]
    return place


def made_by(place: ProgramValue, *names: str, through: Collection[str] = TRANSPARENT) -> Operation | None:
    """Return the operation that makes a value, before those that only pass it on, if it has one of these names."""
    maker = source(place, through).maker
    return maker if maker is not None and (not names or maker.name in names) else None


def ancestors(place: ProgramValue, most: int = 300) -> Iterator[Operation]:
    """Yield the operations that a value comes from, nearest first."""
    waiting = [place]
    seen: set[int] = set()
    while waiting and len(seen) < most:
        maker = waiting.pop(0).maker
        if maker is None or id(maker) in seen:
            continue
        seen.add(id(maker))
        yield maker
        waiting += maker.inputs


def uses(place: ProgramValue, through: Collection[str] = TRANSPARENT) -> Iterator[tuple[Operation, ProgramValue]]:
    """Yield the operations that use a value, each with the input at which it arrives, looking behind `through`."""
    waiting = [place]
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < _MOST_USES:
        here = waiting.pop(0)
        for user in here.users:
            if (id(user), id(here)) in seen:
                continue
            seen.add((id(user), id(here)))
            yield user, here
            if user.name in through:
                waiting += user.outputs


def carried_floats(eqn: Any) -> list[Any]:
    """Return the variables of the body of a scan or while in which it carries floating-point values."""
    if eqn.primitive.name == SCAN:
        first, carried = interpret.scan_split(eqn)
        variables = compat.jaxpr_parts(eqn.params["jaxpr"])[0].invars[first : first + carried]
    else:
        variables = compat.jaxpr_parts(eqn.params["body_jaxpr"])[0].invars[eqn.params["body_nconsts"] :]
    return [one for one in variables if jnp.issubdtype(one.aval.dtype, jnp.floating)]
