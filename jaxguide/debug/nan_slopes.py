"""Find what to do about an infinite or undefined derivative, from the operation that is differentiated."""

import ast
import re

import numpy as np

from jaxguide.compat.primitives import call_kind
from jaxguide.debug.nan_case import (
    NanCase,
    all_masked,
    argument_text,
    called_name,
    exponential_in,
    expression_at,
    is_spread,
    is_square,
)
from jaxguide.debug.nan_flow import TRANSPARENT, Operation, ProgramValue, ancestors, made_by, uses
from jaxguide.debug.nan_report import safe_before

_NEAR = frozenset({"add", "sub", "mul", "neg", "div", "square", "integer_pow", "one_minus_square", "rsqrt", "add_any"})
_RISKY = frozenset({"sqrt", "cbrt", "log", "log1p", "pow", "atan2", "acos", "asin", "atanh", "div", "rsqrt"})
_NORMS = TRANSPARENT | {"real"}  # what comes between a square and its sum
# Those that derivatives of other operations have, too.
_OF_DERIVATIVES = frozenset({"div", "rsqrt"})


def slope_advice(case: NanCase) -> str:
    """Return what to do about what the backward pass made; empty if nothing is certain."""
    operation = case.operation
    if operation is None:
        return _from_source(case)
    decomposed = _equal_values(case)
    if decomposed:
        return decomposed
    forward = _before_checkpoint(case, _differentiated(case))
    if forward is None:
        return ""
    if case.select_that_drops_it(forward) is not None:
        dropped = "`jnp.where` does not take this element, but its slope is not finite and is multiplied by 0. {safe}"
        divisor = forward.inputs[1] if forward.name == "div" else None
        return dropped.format(safe=safe_input(case, forward.name, divisor))
    return _SLOPES.get(forward.name, _no_advice)(case, forward)


def safe_input(case: NanCase, primitive: str, divisor: ProgramValue | None) -> str:
    """Return advice to make the input of an operation safe, whose result `jnp.where` drops.

    Args:
        case: what was made.
        primitive: the operation.
        divisor: what it divides by; None if it does not divide.
    """
    if divisor is None or case.flow is None:
        return safe_before(primitive)
    for maker in ancestors(divisor, 8):
        root = case.flow.value(maker.outputs[0]) if maker.name == "sqrt" else None
        if root is not None and (root == 0).any():
            called = called_name(expression_at(maker.spot)) if maker.spot is not None else None
            return (
                "The divisor comes from the root of 0, whose slope is infinite, too: make the input of the root safe, "
                "as in `{root}(jnp.where(ok, x, 1.0))`, and divide by that."
            ).format(root=called if called is not None and called.rpartition(".")[2] == "norm" else "jnp.sqrt")
    if case.is_in_library:
        return (
            f"Make the input of {case.caller_words} safe before the call: `jnp.where(ok, f(jnp.where(ok, x, safe)), "
            "other)`, with a `safe` number for which it does not divide by 0."
        )
    return safe_before("div")


def _no_advice(case: NanCase, forward: Operation) -> str:
    return ""


def _differentiated(case: NanCase) -> Operation | None:
    """Return the operation of the forward pass whose derivative the bad operation computes.

    It is in the same line, and shares a value with the bad operation.
    """
    assert case.operation is not None
    bad = case.operation
    near = _around(bad)
    candidates = [
        candidate
        for place in near
        for candidate in ([place.maker, *place.users] if place.maker is not None else place.users)
        if candidate is not bad
        and candidate.name in _RISKY
        and candidate.line == case.bad.line
        # What `jax.checkpoint` computes again belongs to the backward pass, derivatives divide there too.
        and not (candidate.transposed and candidate.name in _OF_DERIVATIVES)
    ]
    candidates.sort(key=lambda candidate: (candidate.spot != bad.spot, candidate.name in _OF_DERIVATIVES))
    return next((candidate for candidate in candidates if _fits(case, candidate)), None)


def _before_checkpoint(case: NanCase, again: Operation | None) -> Operation | None:
    """Return the operation of the forward pass that a `jax.checkpoint` computes again for the backward pass."""
    assert case.operation is not None
    assert case.flow is not None
    if not any(call_kind(eqn.primitive.name) == "checkpoint" for eqn in case.operation.around):
        return again
    twins = [
        one
        for one in case.flow.operations
        if one.name in (_RISKY if again is None else (again.name,))
        and not one.transposed
        and one.line == case.bad.line
        and _fits(case, one)
    ]
    return twins[0] if len(twins) == 1 else again


def _around(operation: Operation) -> list[ProgramValue]:
    """Return the inputs of an operation and what they are computed from nearby, nearest first."""
    found, waiting = [], list(operation.inputs)
    for _i in range(24):
        if not waiting:
            break
        place = waiting.pop(0)
        found.append(place)
        maker = place.maker
        if maker is not None and (maker.name in _NEAR or maker.name in TRANSPARENT):
            waiting += maker.inputs
    return found


def _fits(case: NanCase, forward: Operation) -> bool:
    """Return whether the operation really has no finite slope at its operands."""
    values = [case.at_index(place) for place in forward.inputs]
    if forward.name == "div":
        return values[1] == 0.0
    first = values[0] if values else None
    if first is None:
        return False
    if forward.name == "atan2":
        return values == [0.0, 0.0]
    if forward.name in ("acos", "asin", "atanh"):
        return abs(first) >= 1.0
    if forward.name == "log1p":
        return first == -1.0
    if forward.name == "pow":
        return first == 0.0
    return first == 0.0


def _root(case: NanCase, forward: Operation) -> str:
    name = _called(case.bad.source)
    output, inner = forward.outputs[0], forward.inputs[0]
    squared = [user for user, _place in uses(output) if not user.transposed]
    total = made_by(inner, "reduce_sum")
    if total is not None and any(map(_is_written_square, squared)):
        return (
            "The slope of the square root is infinite at 0, and squaring afterwards does not help: sum the squares, as "
            "in `jnp.sum(x**2)`, in place of squaring the root."
        )
    if is_spread(inner):
        return (
            "The spread of constant values is 0, where the slope of the square root is infinite: add a small number to "
            "the variance, as in `jnp.sqrt(jnp.var(x) + {tiny})`; adding it after the root is too late."
        ).format(tiny=case.small("1e-6"))
    if total is not None and made_by(total.inputs[0], "square", "integer_pow", "mul", through=_NORMS) is not None:
        return (
            "The slope of the square root is infinite at 0, and `{name}` takes the square root of 0, for a vector of "
            "length 0: add a small number before the root, as in `jnp.sqrt(jnp.sum(x**2) + {tiny})`, or select a safe "
            "vector with `jnp.where` first."
        ).format(name=name, tiny=case.small("1e-12"))
    text = argument_text(case.bad.source, ("sqrt",)) or "x"
    return (
        "The slope of the square root is infinite at 0, and `{name}` takes the square root of 0: keep its input above "
        "0, as in `jnp.sqrt({x} + {tiny})`, or select a safe input with `jnp.where` first."
    ).format(name=name, x=text, tiny=case.small("1e-12"))


def _is_written_square(operation: Operation) -> bool:
    """Return whether an operation is a square that the user wrote, and not a factor of the derivative of a cube."""
    node = None if operation.spot is None else expression_at(operation.spot)
    power = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else None
    return is_square(operation) and (power is None or (isinstance(power, ast.Constant) and power.value == 2))


def _called(line: str | None) -> str:
    found = re.search(r"\b(sqrt|norm|std|hypot|rsqrt)\(", line or "")
    return found[1] if found else "sqrt"


def _power(case: NanCase, forward: Operation) -> str:
    exponent = case.at_index(forward.inputs[1])
    if exponent is None or exponent >= 1:
        return ""
    return (
        f"The slope of x ** {exponent:g} is infinite at 0: keep x above 0, or raise a safe number with a second "
        f"`jnp.where`, as in `jnp.where(x > 0, jnp.where(x > 0, x, 1.0) ** {exponent:g}, 0.0)`."
    )


def _direction(case: NanCase, forward: Operation) -> str:
    return (
        "`arctan2` has no derivative at (0, 0): give it a harmless direction there with `jnp.where`, as in "
        "`jnp.arctan2(y, jnp.where((x == 0) & (y == 0), 1.0, x))`."
    )


def _inverse(case: NanCase, forward: Operation) -> str:
    name = {"acos": "arccos", "asin": "arcsin", "atanh": "arctanh"}[forward.name]
    text = argument_text(case.bad.source, (name, forward.name)) or "x"
    return (
        f"The slope of `{name}` is infinite at -1 and 1: clip its input a little inside, as in `jnp.{name}(jnp.clip("
        f"{text}, -1 + {case.gap}, 1 - {case.gap}))`."
    )


def _logarithm(case: NanCase, forward: Operation) -> str:
    total = made_by(forward.inputs[0], "reduce_sum", through=TRANSPARENT | {"abs"})
    power = None if total is None else exponential_in(total.inputs[0])
    if total is not None and power is not None:
        row = case.row_of(power.inputs[0], tuple(total.eqn.params["axes"]))
        return all_masked(case, row) if row is not None else ""
    text = argument_text(case.bad.source, ("log",)) or "x"
    return (
        "The slope of the logarithm is infinite at 0: keep its input above 0, as in `jnp.log({x} + {tiny})`, or select "
        "a safe input with `jnp.where` first."
    ).format(x=text, tiny=case.small("1e-12"))


def _quotient(case: NanCase, forward: Operation) -> str:
    return "It divides by 0: use another divisor there, as in `x / jnp.where(y == 0, 1.0, y)`."


def _cube_root(case: NanCase, forward: Operation) -> str:
    return "The slope of the cube root is infinite at 0: keep its input away from 0 with `jnp.where` first."


_SLOPES = {
    "sqrt": _root,
    "rsqrt": _root,
    "cbrt": _cube_root,
    "pow": _power,
    "atan2": _direction,
    "acos": _inverse,
    "asin": _inverse,
    "atanh": _inverse,
    "log": _logarithm,
    "div": _quotient,
}


def _equal_values(case: NanCase) -> str:
    """Advise on vectors of a decomposition whose eigenvalues or singular values are equal."""
    assert case.operation is not None
    assert case.flow is not None
    if case.operation.name not in ("div", "integer_pow"):
        return ""
    for maker in (one for place in case.operation.inputs for one in ancestors(place, 40)):
        if maker.name not in ("eigh", "svd", "eig") or maker.line != case.bad.line:
            continue
        for output in maker.outputs:
            values = case.flow.value(output)
            shape = [variable.aval.shape for variable in maker.eqn.outvars if len(variable.aval.shape)]
            if values is None or values.ndim != min(map(len, shape)):
                continue
            ordered = np.sort(values.reshape(-1, values.shape[-1]), axis=-1)
            if values.shape[-1] > 1 and (np.diff(ordered, axis=-1) == 0).any():
                kind = "singular values" if maker.name == "svd" else "eigenvalues"
                return (
                    f"Two {kind} are equal, and the derivative of their vectors divides by the difference: avoid "
                    "differentiating the vectors, for example with a formula without them or a rule of your own, or "
                    "break the tie with a small perturbation of the matrix."
                )
    return ""


def _from_source(case: NanCase) -> str:
    """Advise from the line alone if the function was not traced."""
    found = re.search(r"\b(sqrt|norm|std)\(", case.bad.source or "")
    if found and case.bad.primitive == "div" and case.number(1) == 0.0:
        return (
            f"The slope of the square root is infinite at 0, and `{found[1]}` takes the square root of 0: keep its "
            "input above 0, as in `jnp.sqrt(x + 1e-12)`, or select a safe input with `jnp.where` first."
        )
    return ""
