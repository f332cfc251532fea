"""Run a large program and its gradient compiled, to see whether anything in them is not finite."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.compat.primitives import SELECT
from jaxguide.debug.nan_watch import is_float, is_real
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.stage import stage

# Equation by equation, a program with more equations takes longer than to compile it as a whole.
_LARGE = 100
# Compile fast, and keep float16 values that are on the way in float16, as they are outside of `jax.jit`.
_OPTIONS = {"xla_backend_optimization_level": 0, "xla_allow_excess_precision": False}
_searched: set[tuple[Any, ...]] = set()
_MASKING = frozenset({SELECT, "div", "rsqrt", "integer_pow", "pow"})


class _Flags(interpret.Observer):
    """While a program is traced, ask for each value that can be masked whether it is finite; loops are not entered."""

    def __init__(self) -> None:
        self.found: list[jax.Array] = []
        self._constants: dict[int, Any] = {}

    def enters(self, step: interpret.BoundEquation) -> bool:
        return interpret.called_jaxpr(step.eqn) is not None

    def after(self, step: interpret.BoundEquation, outputs: Sequence[Any]) -> None:
        computed = [x for x in step.inputs if isinstance(x, jax.core.Tracer) and id(x) not in self._constants]
        if not computed:  # an infinity that is written in the code
            self._constants.update({id(y): y for y in outputs})
        if step.eqn.primitive.name in _MASKING:
            self.found += [jnp.isfinite(x).all() for x in computed if is_float(x)]


def is_clean(
    fn: Callable[..., Any], jaxpr: Any, structure: Any, leaves: Sequence[Any], choices: Sequence[Sequence[int]]
) -> bool:
    """Return whether a program, its gradient and what either masks outside of loops are certainly finite.

    Only a large program without effects is run to find out, and only if it was not searched before, since then its
    equations are compiled one by one already.

    Args:
        fn: the function.
        jaxpr: its program.
        structure: that of its positional and keyword arguments.
        leaves: those of its arguments.
        choices: the leaves to differentiate with respect to; the first that JAX can differentiate count.
    """
    count = _count(jaxpr)
    program = (count, *(str(variable.aval) for variable in compat.jaxpr_parts(jaxpr)[0].invars))
    if jaxpr.effects or count <= _LARGE or program in _searched:
        return False
    clean = any(_is_finite(fn, structure, leaves, chosen) for chosen in choices)
    if not clean:
        _searched.add(program)
    return clean


def _count(jaxpr: Any) -> int:
    eqns = compat.jaxpr_parts(jaxpr)[0].eqns
    return len(eqns) + sum(_count(inner) for eqn in eqns for inner in interpret.inner_jaxprs(eqn))


def _is_finite(fn: Callable[..., Any], structure: Any, leaves: Sequence[Any], chosen: Sequence[int]) -> bool:
    traced = tuple(i for i, leaf in enumerate(leaves) if i in chosen or isinstance(leaf, jax.Array | np.ndarray))
    fixed = tuple((i, leaf) for i, leaf in enumerate(leaves) if i not in traced)
    # Functions that are not jitted may read something else at each call.
    compiled = _compiled if hasattr(fn, "lower") else _compiled.__wrapped__
    try:
        return bool(compiled(fn, structure, traced, fixed, tuple(chosen))([jnp.asarray(leaves[i]) for i in traced]))
    except Exception:  # it cannot be compiled or differentiated as a whole
        return False


@functools.lru_cache(maxsize=4)
def _compiled(
    fn: Callable[..., Any], structure: Any, traced: Sequence[int], fixed: Sequence[Any], chosen: Sequence[int]
) -> Callable[[list[jax.Array]], jax.Array]:
    """Return a compiled function of the traced leaves that says whether everything is finite."""

    def program(values: list[jax.Array]) -> jax.Array:
        leaves = dict(fixed) | dict(zip(traced, values, strict=True))

        def total(*wanted: jax.Array) -> jax.Array:
            filled = leaves | dict(zip(chosen, wanted, strict=True))
            return sum_of_results(fn, structure, [filled[i] for i in range(len(filled))])

        differentiated = jax.value_and_grad(total, argnums=tuple(range(len(chosen)))) if chosen else total
        staged = stage(differentiated, [leaves[i] for i in chosen], {})
        flags = _Flags()
        outputs = interpret.run(staged.jaxpr, staged.arguments, flags)
        return jnp.stack([*flags.found, *(jnp.isfinite(y).all() for y in outputs)]).all()

    return jax.jit(program, compiler_options=_OPTIONS)


def sum_of_results(fn: Callable[..., Any], structure: Any, leaves: Sequence[Any]) -> jax.Array:
    """Return the sum of the real floating-point results of a function."""
    args, kwargs = jax.tree.unflatten(structure, leaves)
    outputs = [y for y in jax.tree.leaves(fn(*args, **kwargs)) if is_real(y)]
    return functools.reduce(jnp.add, [jnp.sum(y).astype(jnp.result_type(float)) for y in outputs])
