"""Describe the program that JAX sees of a function, its jaxpr, as plain data."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxguide import compat
from jaxguide.interpret import called_jaxpr, inner_jaxprs
from jaxguide.staging import stage


class Output(NamedTuple):
    """One output: its shape, its dtype as JAX prints it, and whether its type is weak."""

    shape: tuple[int, ...]
    dtype: str
    weak_type: bool


@dataclass(frozen=True)
class Program:
    """A jaxpr as data.

    Args:
        primitives: how often each primitive occurs. Calls (jit, custom rules, checkpoint) are written out at the place
            of the call; the body of a scan or while and each branch of a cond is counted once, and so is the loop.
        equations: their sum.
        outputs: the flat outputs, in order.
        largest_constant_bytes: the size of the largest array that the program holds as a constant, 0 without any.
        matmul_flops: floating-point operations of matrix products (`dot_general`), two for each multiply and add; a
            scan counts its body `length` times, a while once, a cond its most expensive branch.
    """

    primitives: dict[str, int] = field(default_factory=dict)
    equations: int = 0
    outputs: list[Output] = field(default_factory=list)
    largest_constant_bytes: int = 0
    matmul_flops: int = 0

    def to_plain(self) -> dict[str, Any]:
        """Return this as dict, list, str, int and bool only, to cross a process boundary."""
        outputs = [[list(output.shape), output.dtype, output.weak_type] for output in self.outputs]
        return {**vars(self), "primitives": dict(self.primitives), "outputs": outputs}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Program":
        """Rebuild what `to_plain` returned."""
        outputs = [Output(tuple(shape), dtype, weak) for shape, dtype, weak in plain["outputs"]]
        return cls(**{**plain, "outputs": outputs})


def program(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Program:
    """Describe the jaxpr of `fn` for the given arguments.

    Rests on `jax.make_jaxpr`. `Compiled.cost_analysis` is no substitute for `matmul_flops`: it counts the body of a
    scan once.

    >>> import jax.numpy as jnp
    >>> seen = program(lambda w, x: jnp.tanh(w @ x), jnp.ones((3, 4)), jnp.ones(4))
    >>> seen.primitives, seen.matmul_flops
    ({'dot_general': 1, 'tanh': 1}, 24)
    >>> seen.outputs
    [Output(shape=(3,), dtype='float32', weak_type=False)]

    Args:
        fn: any function that can be traced.
        args, kwargs: its arguments. Arrays, keys and floats are traced; Python integers, strings, booleans and None
            stay as they are.

    Raises:
        Exception: whatever `fn` raises while it is traced.
    """
    try:
        jaxpr = stage(fn, args, kwargs).jaxpr
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError):
        # A function that needs an argument's value has a program for that value.
        try:
            jaxpr = stage(fn, args, kwargs, concrete=True).jaxpr
        except Exception as second:
            raise second from None
    plain, _ = compat.jaxpr_parts(jaxpr)
    primitives = Counter(eqn.primitive.name for eqn in _equations(jaxpr))
    return Program(
        primitives=dict(primitives),
        equations=primitives.total(),
        outputs=[_output(variable.aval) for variable in plain.outvars],
        largest_constant_bytes=max((_size_bytes(value) for value in _constants(jaxpr)), default=0),
        matmul_flops=_matmul_flops(jaxpr),
    )


def _equations(jaxpr: Any) -> Iterator[Any]:
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        called = called_jaxpr(eqn)
        if called is not None:
            yield from _equations(called)
            continue
        yield eqn
        for inner in inner_jaxprs(eqn):
            yield from _equations(inner)


def _constants(jaxpr: Any) -> Iterator[Any]:
    plain, constants = compat.jaxpr_parts(jaxpr)
    yield from constants
    for eqn in plain.eqns:
        for inner in inner_jaxprs(eqn):
            yield from _constants(inner)


def _size_bytes(value: Any) -> int:
    return int(getattr(value, "nbytes", None) or np.size(value) * getattr(value.dtype, "itemsize", 0))


def _output(aval: Any) -> Output:
    return Output(tuple(aval.shape), str(aval.dtype), bool(getattr(aval, "weak_type", False)))


def _matmul_flops(jaxpr: Any) -> int:
    total = 0
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        name = eqn.primitive.name
        if name == "dot_general":
            (contracted, _), _ = eqn.params["dimension_numbers"]
            depth = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
            total += 2 * depth * math.prod(eqn.outvars[0].aval.shape)
        elif name == "cond":
            total += max(_matmul_flops(branch) for branch in eqn.params["branches"])
        else:
            times = eqn.params["length"] if name == "scan" else 1
            total += times * sum(_matmul_flops(inner) for inner in inner_jaxprs(eqn))
    return total
