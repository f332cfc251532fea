"""Say what to do about the operation that made a NaN or an infinity."""

import re
from typing import Protocol

from jaxguide.base.text import _


class Made(Protocol):
    """What is known of the operation: see `jaxguide.debug.nan_report.BadValue`."""

    @property
    def primitive(self) -> str: ...
    @property
    def made(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def backward(self) -> bool: ...
    @property
    def operands(self) -> tuple[str, ...]: ...


def advice(bad: Made) -> list[str]:
    """Return one sentence on what to do, or none where there is nothing certain to say."""
    if bad.backward:
        return _backward(bad)
    if bad.primitive in ("exp", "exp2", "expm1", "cosh", "sinh") and bad.made == "inf":
        return [
            _(
                "`{primitive}` of a large number is too large for its dtype: subtract the largest value first, as "
                "`jax.nn.softmax` and `jax.nn.logsumexp` do."
            ).format(primitive=bad.primitive)
        ]
    if bad.primitive in ("log", "log1p") and bad.made == "-inf":
        return [
            _(
                "The logarithm of 0 is minus infinity: compute the logarithm directly, as `jax.nn.log_softmax` does, "
                "or keep its input above 0."
            )
        ]
    if bad.primitive in ("log", "sqrt", "rsqrt") and bad.made == "nan" and bad.operands[:1] and _is_negative(bad):
        return [
            _("`{primitive}` of a negative number is not a number: see why its input is negative.").format(
                primitive=bad.primitive
            )
        ]
    if bad.primitive == "div" and _float(bad.operands[-1:]) == 0.0:
        return [_("It divides by 0: put another divisor there, as in `x / jnp.where(y == 0, 1.0, y)`.")]
    return []


def safe_input(masked: Made) -> str:
    """Say how to keep a branch that is not taken from spoiling the gradient."""
    remedy = (
        "`jnp.where(ok, x / jnp.where(ok, y, 1.0), other)`"
        if masked.primitive == "div"
        else "`jnp.where(ok, risky(jnp.where(ok, x, 1.0)), other)`"
    )
    return _(
        "`jnp.where` picks the right branch, yet the other one still sends 0 * inf back. Make the input safe before "
        "the risky operation: {remedy}."
    ).format(remedy=remedy)


def _backward(bad: Made) -> list[str]:
    found = re.search(r"\b(sqrt|norm|std|cbrt)\(", bad.source or "")
    if found and 0.0 in [_float((operand,)) for operand in bad.operands]:
        return [
            _(
                "The slope of the square root is infinite at 0, and `{name}` takes one there: keep its input above 0, "
                "as in `jnp.sqrt(s + 1e-12)`, or choose a safe input with `jnp.where` first."
            ).format(name=found[1])
        ]
    return []


def _is_negative(bad: Made) -> bool:
    value = _float(bad.operands[:1])
    return value is not None and value < 0


def _float(operands: tuple[str, ...]) -> float | None:
    try:
        return float(operands[0])
    except (IndexError, ValueError):
        return None
