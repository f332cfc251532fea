"""Find what to do about a NaN or an infinity, from the operation that made it, its values and the program around it."""

import ast
from collections.abc import Iterator

import numpy as np

from jaxguide.debug.nan_case import NanCase, all_masked, minus_infinity_row, operand_text
from jaxguide.debug.nan_divisions import division_advice
from jaxguide.debug.nan_exponentials import log_of_zero_advice, overflow_advice, zero_times_infinity
from jaxguide.debug.nan_flow import TRANSPARENT, Operation, ProgramValue, ancestors, made_by, source, uses
from jaxguide.debug.nan_matrices import matrix_advice
from jaxguide.debug.nan_slopes import safe_input, slope_advice


def forward_advice(case: NanCase) -> str:
    """Return what to do about what the forward pass made, in a sentence or two; empty if nothing is certain."""
    if case.bad.masked:
        return overflow_advice(case) if case.bad.may_be_off else _dropped(case)
    return _dropped(case) or _lost_number(case) or _as_written(case)


def _as_written(case: NanCase) -> str:
    rules = (matrix_advice, _missing, _infinite, overflow_advice, log_of_zero_advice, division_advice, _outside_domain)
    return next(filter(None, (rule(case) for rule in rules)), "")


def advice(case: NanCase) -> str:
    """Return what to do about what an operation made; empty if nothing is certain."""
    if case.bad.backward or _is_slope_of_root(case) or _is_slope_of_inverse(case):
        # A rule of the user's own may compute what is wrong; in the other operations of a backward pass, it is a slope.
        return _lost_number(case) or slope_advice(case) or (_as_written(case) if case.is_written else _infinite(case))
    return forward_advice(case)


def _is_slope_of_root(case: NanCase) -> bool:
    """Return whether this is 0.5 / sqrt(x), as forward-mode derivatives compute it."""
    top, bottom = (case.place(0), case.place(1)) if case.bad.primitive == "div" else (None, None)
    if top is None or bottom is None or source(top).literal is None:
        return False
    return bool(np.all(source(top).literal == 0.5)) and made_by(bottom, "sqrt") is not None


def _is_slope_of_inverse(case: NanCase) -> bool:
    """Return whether this is a part of the derivative of `arccos` or the like, such as 1 / sqrt(1 - x**2)."""
    name = (case.called or "").rpartition(".")[2].replace("arc", "a")
    return name in ("acos", "asin", "atanh", "acosh") and case.bad.primitive in ("rsqrt", "sqrt", "div")


def _dropped(case: NanCase) -> str:
    """Advise on a value that `jnp.where` drops, but whose factor spoils the gradient."""
    if not (case.bad.masked or case.differentiates):
        return ""
    if case.select_that_drops_it() is None and not _divides_like_a_dropped_one(case):
        return ""
    return (
        "`jnp.where` selects the right branch, but the other one still sends 0 * inf backward. "
        f"{safe_input(case, case.bad.primitive, case.divisor())}"
    )


def _divides_like_a_dropped_one(case: NanCase) -> bool:
    """Return whether this is a factor of the derivative of x / y, such as 1 / y, and `jnp.where` drops x / y."""
    divisor = case.divisor()
    if divisor is None or case.operation is None:
        return False
    return any(
        user.name == "div"
        and arrives is user.inputs[1]
        and not user.transposed
        and user.spot == case.operation.spot
        and case.select_that_drops_it(user) is not None
        for user, arrives in uses(source(divisor))
        if user is not case.operation
    )


def _lost_number(case: NanCase) -> str:
    """Advise on a small number that is added to keep something above 0, but is 0 in float16."""
    if case.dtype != np.float16 or case.operation is None or case.bad.primitive not in ("div", "rsqrt", "log"):
        return ""
    for maker in ancestors(case.operation.inputs[-1], 8):
        if maker.name == "add" and any(place.literal is not None and place.literal == 0 for place in maker.inputs):
            return "The number added at {line} is 0 in float16: add 1e-4 or more, or compute in float32.".format(
                line=maker.line or "a line in library code"
            )
    return ""


def _missing(case: NanCase) -> str:
    """Advise on an index out of bounds, for which JAX reads NaN."""
    if case.bad.primitive != "gather" or case.bad.made != "nan" or len(case.values) < 2:
        return ""
    numbers = case.step.eqn.params["dimension_numbers"]
    sizes, slices = case.values[0].shape, case.step.eqn.params["slice_sizes"]
    for column, axis in enumerate(numbers.start_index_map):
        starts = case.values[1][..., column].ravel()
        wrong = starts[(starts < 0) | (starts > sizes[axis] - slices[axis])]
        if wrong.size:
            return (
                f"The index {int(wrong[0])} is out of bounds for axis {int(axis)} of size {sizes[axis]}, and JAX reads "
                "NaN there: keep the indices within the array."
            )
    return ""


def _infinite(case: NanCase) -> str:
    """Advise on a NaN made of infinities."""
    bad = case.bad
    if bad.made != "nan" or len(bad.operands) < 2:
        return ""
    x, y = case.number(0), case.number(1)
    if x is None or y is None:
        return ""
    if bad.primitive == "sub" and x == y and np.isinf(x):
        row = _masked_row(case)
        if row is not None and x < 0:
            return all_masked(case, row)
        far = case.reaches(case.operation.outputs[0], ("abs", "neg"), "exp") if case.operation is not None else None
        if far is not None and case.reaches(far[0].outputs[0], (), "log1p") is not None:
            return "-inf minus -inf is NaN: `jnp.logaddexp(a, b)` is -inf there." if x < 0 else ""
        return f"{bad.operands[0]} minus {bad.operands[1]} is NaN: keep one of the two finite."
    if bad.primitive == "mul" and 0.0 in (x, y) and np.isinf([x, y]).any():
        return zero_times_infinity(case)
    if bad.primitive == "div" and np.isinf(x) and np.isinf(y):
        return "inf / inf is NaN: keep both sides finite."
    return ""


def _masked_row(case: NanCase) -> str | None:
    """Return words for the row of the bad element if all of it is minus infinity."""
    if case.values[0].shape != case.shape or not case.shape:
        return None
    axes: tuple[int, ...] = (len(case.shape) - 1,)
    largest = case.place(1)
    if largest is not None:
        found = next((one for one in ancestors(largest, 12) if one.name == "reduce_max"), None)
        if found is None or found.eqn.invars[0].aval.shape != case.shape:
            return None
        axes = tuple(found.eqn.params["axes"])
    return minus_infinity_row(case.values[0], axes, case.bad.index)


def _outside_domain(case: NanCase) -> str:
    """Advise on roots, logarithms and inverse functions outside of their domain."""
    bad, x = case.bad, case.number(0)
    if x is None or not np.isfinite(x):
        return ""
    if bad.primitive in ("acos", "asin", "atanh", "erf_inv") and abs(x) >= 1:
        name = {"acos": "arccos", "asin": "arcsin", "atanh": "arctanh"}.get(bad.primitive, bad.primitive)
        text = case.called_with(name, bad.primitive) or "x"
        if abs(x) < 1 + 1e-3:
            # The slopes of `arccos` and `arcsin` are infinite at -1 and 1.
            to_the_ends = bad.primitive in ("acos", "asin") and not case.differentiates
            ends = "-1, 1" if to_the_ends else f"-1 + {case.gap}, 1 - {case.gap}"
            return f"The input of `{name}` is {x:.9g}: clip it, as in `jnp.clip({text}, {ends})`."
        return f"`{name}` has no value at {x!r}: its input must lie between -1 and 1."
    if bad.primitive == "acosh" and x < 1:
        return f"`arccosh` has no value at {x!r}: its input must be 1 or more."
    if bad.primitive in ("lgamma", "digamma") and x <= 0 and x == int(x):
        return f"`{bad.primitive}` has no finite value at {x:g}: it has poles at 0 and at the negative integers."
    if bad.primitive in ("igamma", "igammac") and ((case.number(1) or 0.0) < 0 or x <= 0):
        return f"The incomplete gamma function of ({x:g}, {case.number(1):g}) is NaN: it needs a > 0 and x >= 0."
    if bad.made != "nan" or x >= 0 or bad.primitive not in ("log", "log1p", "sqrt", "rsqrt", "pow"):
        return ""
    if bad.primitive == "pow":
        power = case.number(1)
        if power is None or power == int(power):
            return ""
        text = operand_text(bad.source, ast.Pow, right=False) or case.called_with("power") or "x"
        return (
            f"A negative number to a fractional power is NaN: use `jnp.sign({text}) * jnp.abs({text}) ** {power:g}`, "
            "or find out why it is negative."
        )
    if bad.primitive == "log1p":
        return "`log1p` of a number below -1 is NaN: find out why its input is so small."
    negative = "`{primitive}` of a negative number is NaN: find out why its input is negative."
    return _rounded_below_zero(case) or negative.format(primitive=bad.primitive)


def _rounded_below_zero(case: NanCase) -> str:
    """Advise on a difference that only rounding makes negative."""
    place = case.place(0)
    if place is None:
        return ""
    # The slope of the root is infinite at 0, and so is the logarithm.
    least = "0.0" if case.bad.primitive == "sqrt" and not case.differentiates else case.small("1e-12")
    for maker in _sums(place):
        if maker.name == "one_minus_square":
            x = case.at_index(maker.inputs[0])
            left, right = 1.0, None if x is None else x * x
        else:
            left, right = case.at_index(maker.inputs[0]), case.at_index(maker.inputs[1])  # type: ignore[assignment]
        if left is None or right is None or not 0 < right - left < 1e-2 * abs(right):
            continue
        if maker.name == "sub" and _is_square_of_mean(maker):
            return (
                "Rounding makes the variance negative, because the mean of the squares and the square of the mean are "
                "almost equal: subtract the mean before squaring, as `jnp.var(x)` does, and keep the variance at "
                f"{least} or above with `jnp.maximum`."
            )
        if right - left < 1e-4 * abs(right):
            return (
                f"Rounding makes the difference of two almost equal numbers negative: keep it at {least} or above with "
                f"`jnp.maximum(x, {least})`."
            )
    return ""


def _sums(place: ProgramValue) -> Iterator[Operation]:
    """Yield the differences behind a value, through additions."""
    for maker in ancestors(place, 8):
        if maker.name in ("sub", "one_minus_square"):
            yield maker
            return
        if maker.name not in {*TRANSPARENT, "add", "abs"}:
            return


def _is_square_of_mean(difference: Operation) -> bool:
    squares = made_by(difference.inputs[0], "div", "mul", "reduce_sum")
    total = squares if squares is None or squares.name == "reduce_sum" else made_by(squares.inputs[0], "reduce_sum")
    of = None if total is None else made_by(total.inputs[0], "square", "integer_pow", "mul")
    mean = made_by(difference.inputs[1], "square", "integer_pow", "mul")
    if of is None or mean is None:
        return False
    averaged = made_by(mean.inputs[0], "div", "mul", "reduce_sum")
    total = averaged if averaged is None or averaged.name == "reduce_sum" else made_by(averaged.inputs[0], "reduce_sum")
    return total is not None and source(total.inputs[0]) is source(of.inputs[0])
