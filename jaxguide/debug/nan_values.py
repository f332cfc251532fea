"""Compute what all equations of a large program give at once, so that none has to be compiled alone."""

from collections.abc import Sequence
from typing import Any

import jax

from jaxguide import compat
from jaxguide.jaxpr import interpret

# To compile fewer equations one by one takes no longer than to compile the whole.
_LARGE = 100
# Compile fast, and keep float16 values that are on the way in float16, as they are outside of `jax.jit`.
_OPTIONS = {"xla_backend_optimization_level": 0, "xla_allow_excess_precision": False}
_KEPT = 8
_compiled: dict[str, Any] = {}  # by text, which has all constants but those of the outermost jaxpr


class _Outputs(interpret.Observer):
    """Collect the outputs of equations; what is not a call runs as a whole."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def enters(self, step: interpret.BoundEquation) -> bool:
        return interpret.called_jaxpr(step.eqn) is not None

    def after(self, step: interpret.BoundEquation, outputs: Sequence[Any]) -> None:
        if not self.enters(step):
            self.found += outputs


def values_of(jaxpr: Any, arguments: Sequence[Any]) -> list[Any] | None:
    """Return the outputs of all equations in the order in which they run, where loops run as a whole.

    Args:
        jaxpr: the program, closed.
        arguments: one value for each of its inputs.

    Returns:
        The values; None for a small program, and for one with effects or values that cannot leave a compiled function.
    """
    if jaxpr.effects or _count(jaxpr) <= _LARGE:
        return None

    def program(consts: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        outputs = _Outputs()
        interpret.run(jaxpr.replace(consts=consts), values, outputs)
        return outputs.found

    try:
        given = list(jaxpr.consts), list(arguments)
        lowered = jax.jit(program, keep_unused=True, compiler_options=_OPTIONS).lower(*given)
        text = lowered.as_text()
        _compiled[text] = _compiled.pop(text, None) or lowered.compile()
        if len(_compiled) > _KEPT:
            del _compiled[next(iter(_compiled))]
        return list(_compiled[text](*given))
    except Exception:
        return None


def _count(jaxpr: Any) -> int:
    eqns = compat.jaxpr_parts(jaxpr)[0].eqns
    return len(eqns) + sum(_count(inner) for eqn in eqns for inner in interpret.inner_jaxprs(eqn))
