"""Find what to do about exponentials and products that overflow, and about logarithms of 0."""

import jax.numpy as jnp
import numpy as np

from jaxguide.compat import collectives
from jaxguide.debug.nan_case import (
    NanCase,
    all_masked,
    called_name,
    exponential_in,
    expression_at,
    first_argument,
    mask_number,
    minus_infinity_row,
)
from jaxguide.debug.nan_flow import TRANSPARENT, Operation, ProgramValue, ancestors, made_by, source
from jaxguide.debug.nan_growth import growth_sentence, shrinking_sentence

_EXPONENTIALS = ("exp", "exp2", "expm1", "sinh", "cosh")
_LOGS = ("log", "log1p")
_SELECTS = frozenset({"gather", "dynamic_slice"})


def overflow_advice(case: NanCase) -> str:
    """Advise on a finite result that is too large for its dtype."""
    bad = case.bad
    if not bad.overflows or not _finite(case):
        return ""
    growth = growth_sentence(case)
    fact = f"The result is beyond {case.dtype.name}, whose largest number is {float(jnp.finfo(case.dtype).max):.6g}."
    if growth:
        return f"{fact} {growth}"
    if bad.primitive in _EXPONENTIALS:
        return f"{fact} {_exponential(case)}".strip()
    return f"{fact} {_too_large(case)}".strip()


def _finite(case: NanCase) -> bool:
    values = [case.number(i) for i in range(len(case.values))]
    if all(value is not None for value in values):
        return bool(np.isfinite([value for value in values if value is not None]).all())
    return all(np.isfinite(value).all() for value in case.values if jnp.issubdtype(value.dtype, jnp.inexact))


def _exponential(case: NanCase) -> str:
    """Advise on an exponential that overflows, by what is computed from it."""
    bad, place = case.bad, None if case.operation is None else case.operation.outputs[0]
    limit = float(np.log(float(jnp.finfo(case.dtype).max)))
    if place is not None:
        one = _log_of_one_plus(case, place)
        if one:
            return one
        if _is_normalized(case, place):
            if any(maker.name == "reduce_max" for maker in ancestors(case.place(0) or ProgramValue(), 8)):
                return ""
            return "Subtract the largest value first, as `jax.nn.softmax` and `jax.nn.logsumexp` do."
    if case.dtype == np.float16:
        return _in_float32(case) if (case.number(0) or 0.0) < 88 else ""
    if bad.primitive != "exp" or place is None:
        return ""
    product = case.reaches(place, (), "mul")
    if product is not None:
        bessel = made_by(product[0].inputs[1 - product[1]], "bessel_i0e", "bessel_i1e")
        if bessel is not None:
            order = bessel.name[len("bessel_i")]
            return (
                f"`i{order}(x)` grows like exp(x): use `jax.scipy.special.i{order}e(x)`, which is i{order}(x) * "
                f"exp(-|x|), so its logarithm plus |x| is that of i{order}(x)."
            )
    text = case.called_with("exp")
    if text is None and case.caller_words and (case.called or "").rpartition(".")[2] not in _EXPONENTIALS:
        return ""
    if text is None:
        return f"Keep the input of `exp` below {limit:.0f}, for example with `jnp.clip`."
    return (
        f"Keep the input of `exp` below {limit:.0f}, as in `jnp.exp(jnp.clip({text}, max={_bound(limit)}))`, or use "
        "`jax.nn.softplus`, which does not overflow, if it only has to be positive."
    )


def _bound(limit: float) -> str:
    return f"{np.floor(limit / 10) * 10:.1f}"


def _log_of_one_plus(case: NanCase, place: ProgramValue) -> str:
    """Advise on log(1 + exp(x)), log(exp(x) + exp(y)) and 1 / (1 + exp(-x))."""
    ratio = case.reaches(place, (), "div")
    if ratio is not None and ratio[1] == 0 and _is_one_plus_exponential(ratio[0].inputs[1]):
        return "The logistic function does not overflow as `jax.nn.sigmoid`."
    added = case.reaches(place, ("neg",), "add", "log1p", "add_any")
    if added is None:
        return ""
    operation, position = added
    text = case.called_with("exp")
    x = text or "x"
    if operation.name == "log1p":
        return _softplus(x)
    other = operation.inputs[1 - position]
    is_one = _constant(case, other) == 1.0
    power = made_by(other, "exp")
    after = case.reaches(operation.outputs[0], (), "log", "div", "integer_pow")
    if after is None:
        return ""
    if after[0].name == "log" and is_one:
        return _softplus(x)
    if after[0].name == "log" and power is not None:
        return "The logarithm of a sum of two exponentials does not overflow as `jnp.logaddexp(x, y)`."
    if is_one and (after[0].name == "integer_pow" or after[1] == 1):
        return "The logistic function does not overflow as `jax.nn.sigmoid`."
    return ""


def _softplus(x: str) -> str:
    return f"log(1 + exp({x})) does not overflow as `jnp.logaddexp({x}, 0.0)`, or `jax.nn.softplus({x})`."


def _constant(case: NanCase, place: ProgramValue) -> float | None:
    value = source(place)
    found = value.literal
    return float(found) if found is not None and np.ndim(found) == 0 else None


def _is_normalized(case: NanCase, place: ProgramValue) -> bool:
    """Return whether a sum of these exponentials divides them, or its logarithm is taken."""
    whole = case.reaches(place, ("mul", "select_n"), "div")
    if whole is not None and whole[1] == 0 and _sum_of_exponentials(whole[0].inputs[1]):
        return True
    total = case.reaches(place, ("mul", "select_n"), "reduce_sum", "dot_general")
    if total is None:
        return False
    through = ("add", "max", "abs", "select_n", *collectives.SUMS)
    logged = case.reaches(total[0].outputs[0], (*through, "div"), "log")
    divides = case.reaches(total[0].outputs[0], through, "div")
    return logged is not None or (divides is not None and divides[1] == 1)


def _too_large(case: NanCase) -> str:
    """Advise on other operations than exponentials."""
    bad = case.bad
    if case.dtype == np.float16:
        return _in_float32(case)
    if bad.primitive in ("reduce_prod", "cumprod"):
        return "Sum the logarithms in place of multiplying."
    if bad.primitive in ("square", "integer_pow", "reduce_sum", "mul", "dot_general") and case.operation is not None:
        root = case.reaches(case.operation.outputs[0], ("reduce_sum", "add", "div"), "sqrt")
        if root is not None:
            return "Divide by the largest component before squaring, and multiply the root by it."
    return ""


def _in_float32(case: NanCase) -> str:
    return "Compute this in float32, as in `x.astype(jnp.float32)`, and convert the result back."


def log_of_zero_advice(case: NanCase) -> str:
    bad = case.bad
    if bad.made != "-inf" or bad.primitive not in _LOGS or case.operation is None:
        if bad.made == "-inf" and bad.primitive in _LOGS:
            return _plain_log(case)
        return ""
    then = bad.then
    if then is not None and then.primitive == "sub" and then.step is not None:
        other = NanCase(then, None, {})
        row = minus_infinity_row(other.values[0], (len(other.values[0].shape) - 1,), then.index)
        if row is not None and other.values[0].ndim:
            return all_masked(case, row)
    stable = _stable_log(case)
    if stable:
        return stable
    if then is not None and then.primitive == "mul" and not then.backward:
        zero = [operand for operand in then.operands if operand in ("0.0", "-0.0", "0")]
        if zero:
            weight = _weight(case, then.step)
            if weight is not None:
                return _xlogy(case, case.operation, weight)
    return _plain_log(case)


def _weight(case: NanCase, step: object) -> ProgramValue | None:
    """Return the factor that the logarithm, or a sum of it, is multiplied by."""
    assert case.operation is not None
    found = case.reaches(case.operation.outputs[0], ("sub", "add", "neg"), "mul")
    return None if found is None else found[0].inputs[1 - found[1]]


def _plain_log(case: NanCase) -> str:
    if case.bad.primitive == "log1p":
        return "The logarithm of 0 is minus infinity: keep the input of `log1p` above -1."
    name = case.called or "jnp.log"
    if case.caller_words is not None and (case.called or "").rpartition(".")[2] not in ("log", "log2", "log10"):
        return (
            f"{case.caller_words} takes the logarithm of 0, which is minus infinity: keep the input away from such "
            "values, or replace them with `jnp.where` before the call."
        )
    x = case.called_with("log", "log2", "log10") or "x"
    if jnp.issubdtype(case.dtype, jnp.complexfloating):
        safe = f"jnp.where({x} == 0, 1.0, {x})"
    else:
        safe = f"jnp.maximum({x}, {case.small('1e-30')})"
    return (
        f"The logarithm of 0 is minus infinity: keep its input away from 0, as in `{name}({safe})`, or leave "
        "such elements out."
    )


def _stable_log(case: NanCase) -> str:
    """Advise on logarithms of what has a stable form."""
    assert case.operation is not None
    place = case.operation.inputs[0]
    near = list(ancestors(place, 14))
    maker = made_by(place, through=TRANSPARENT | _SELECTS | {"abs"})
    if maker is None:
        return ""
    if maker.name == "logistic":
        return "The logarithm of a sigmoid does not underflow as `jax.nn.log_sigmoid(x)`."
    if maker.name == "exp":
        if not _is_finite(case, maker.inputs[0]):
            return ""
        return "This exponential underflows to 0: its logarithm is the exponent itself."
    if maker.name in ("div", "integer_pow") and _is_one_plus_exponential(maker.inputs[-1]):
        return "The logarithm of a sigmoid does not underflow as `jax.nn.log_sigmoid(x)`."
    power = made_by(maker.inputs[0], "exp") if maker.name == "div" else None
    if power is not None and _sum_of_exponentials(maker.inputs[1]):
        if not _is_finite(case, power.inputs[0]):
            return (
                "The probability is exp(-inf) = 0, and its logarithm minus infinity: use `jax.nn.log_softmax(x)`, and "
                f"mask `x` with a large finite number, such as {mask_number(case)}, in place of -inf."
            )
        return "The logarithm of a softmax does not underflow as `jax.nn.log_softmax(x)`."
    if maker.name == "reduce_sum" and _sum_of_exponentials(maker.outputs[0]):
        return _of_sum(case, maker)
    if maker.name == "reduce_prod":
        factors = None if case.flow is None else case.flow.value(maker.inputs[0])
        if factors is None or not (factors != 0).all():
            return ""
        return "The product underflows to 0: sum the logarithms in place of multiplying."
    tail = next((one for one in near if one.name == "erfc"), None)
    if tail is not None and maker.name in ("erfc", "mul"):
        return _tail(tail)
    if maker.name in ("sub", "one_minus_square"):
        return _one_minus(case, maker)
    return shrinking_sentence(case)


def _is_finite(case: NanCase, exponent: ProgramValue) -> bool:
    """Return whether an exponential is 0 because its exponent is too small, and not because it is minus infinity."""
    value = None if case.flow is None else case.flow.value(exponent)
    if value is None or value.shape != case.shape:
        return value is not None and bool(np.isfinite(value).all())
    return bool(np.isfinite(value[case.bad.index]))


def _of_sum(case: NanCase, total: Operation) -> str:
    """Advise on the logarithm of a sum of exponentials that is 0."""
    power = exponential_in(total.inputs[0])
    row = None if power is None else case.row_of(power.inputs[0], tuple(total.eqn.params["axes"]))
    if row is not None:
        return all_masked(case, row)
    exponents = None if power is None or case.flow is None else case.flow.value(power.inputs[0])
    if exponents is None or not np.isfinite(exponents).all():
        return ""
    weighs = made_by(total.inputs[0], "exp") is None
    call = "jax.nn.logsumexp(x, b=weights)" if weighs else "jax.nn.logsumexp(x)"
    return f"The logarithm of a sum of exponentials does not underflow as `{call}`."


_TAILS = {"cdf": "stats.norm.logcdf(x)", "sf": "stats.norm.logsf(x)", "ndtr": "special.log_ndtr(x)"}


def _normal(operation: Operation) -> str:
    """Return which function of the normal distribution the user calls in an operation: cdf, sf or ndtr, or none."""
    name = None if operation.spot is None else called_name(expression_at(operation.spot))
    head, _dot, last = (name or "").rpartition(".")
    return last if last == "ndtr" or (last in _TAILS and head.rpartition(".")[2] == "norm") else ""


def _tail(erfc: Operation) -> str:
    """Advise on the logarithm of a tail of the normal distribution."""
    name = _normal(erfc)
    if name:
        return f"The tail of the normal distribution underflows to 0: use `jax.scipy.{_TAILS[name]}`."
    return (
        "erfc(x) underflows to 0: its logarithm does not as `jnp.log(2.0) + jax.scipy.stats.norm.logcdf(-jnp.sqrt(2.0) "
        "* x)`."
    )


def _is_one_plus_exponential(place: ProgramValue) -> bool:
    added = made_by(place, "add")
    if added is None:
        return False
    ones = [one for one in added.inputs if np.ndim(source(one).literal) == 0 and source(one).literal == 1.0]
    return bool(ones) and any(made_by(one, "exp") is not None for one in added.inputs)


def _one_minus(case: NanCase, maker: Operation) -> str:
    """Advise on log(1 - tanh(x)**2), log(1 - sigmoid(x)) and log(1 - exp(x))."""
    if maker.name == "one_minus_square":
        inner = made_by(maker.inputs[0], "tanh")
        return _log_of_tanh() if inner is not None else ""
    if source(maker.inputs[0]).literal is None or float(source(maker.inputs[0]).literal) != 1.0:
        return ""
    inner = made_by(maker.inputs[1])
    if inner is None:
        return ""
    if inner.name == "logistic":
        return "log(1 - sigmoid(x)) does not underflow as `jax.nn.log_sigmoid(-x)`."
    if inner.name == "exp" and case.at_index(inner.inputs[0]) != 0.0:
        return "log(1 - exp(x)) keeps its digits as `jnp.log(-jnp.expm1(x))`."
    if inner.name in ("square", "integer_pow", "mul") and made_by(inner.inputs[0], "tanh") is not None:
        return _log_of_tanh()
    if inner.name == "mul" and _normal(inner) == "cdf":
        return "log(1 - cdf(x)) does not underflow as `jax.scipy.stats.norm.logsf(x)`."
    return ""


def _log_of_tanh() -> str:
    return (
        "tanh(x) is rounded to 1 for large x: write log(1 - tanh(x)**2) as "
        "`2 * (jnp.log(2.0) - x - jax.nn.softplus(-2 * x))`."
    )


def _sum_of_exponentials(place: ProgramValue) -> bool:
    total = made_by(place, "reduce_sum", through=TRANSPARENT | collectives.SUMS | {"add", "max"})
    return total is not None and exponential_in(total.inputs[0]) is not None


def relative_entropy() -> str:
    """Return advice on p * log(p / q) where p is 0."""
    return "p * log(p / q) is NaN where p is 0: write it as `jax.scipy.special.rel_entr(p, q)`, which is 0 there."


def _xlogy(case: NanCase, log: Operation, weight: ProgramValue) -> str:
    ratio = made_by(log.inputs[0], "div")
    if ratio is not None and source(ratio.inputs[0]) is source(weight):
        return relative_entropy()
    is_same = source(log.inputs[0]) is source(weight)
    text = None if log.spot is None else first_argument(expression_at(log.spot), ("log",))
    text = text or ("x" if is_same else "y")
    safe = f"jnp.log(jnp.maximum({text}, {case.small('1e-30')}))"
    if case.differentiates:
        # The slopes of `xlogy(x, y)` are log(y) and x / y.
        return f"0 * log(0) is NaN: keep the input of the logarithm above 0, as in `{safe}`."
    if is_same:
        said = "0 * log(0) is NaN: `{call}` is 0 there.".format(call=f"jax.scipy.special.xlogy({text}, {text})")
    else:
        said = "0 * log(0) is NaN: write `jax.scipy.special.xlogy(x, y)` for x * log(y); it is 0 where x is 0."
    finite = f"Its gradient is not finite there: if you need that, take `{safe}` instead."
    return f"{said} {finite}"


def zero_times_infinity(case: NanCase) -> str:
    """Advise on p * log(p) and other products of 0 and an infinity."""
    bad = case.bad
    infinite = 0 if np.isinf(case.number(0) or 0.0) else 1
    zero, wide = case.place(1 - infinite), case.place(infinite)
    if zero is None or wide is None:
        return _times(bad.operands)
    power = made_by(zero, "exp")
    if power is not None and source(power.inputs[0]) is source(wide):
        return (
            "The probability is exp(-inf) = 0, and 0 * -inf is NaN: mask the logits with a large finite number, such "
            f"as {mask_number(case)}, in place of -inf, or leave such terms out with `jnp.where` before the product."
        )
    for maker in ancestors(wide, 12):
        value = case.flow.value(maker.outputs[0]) if case.flow is not None and maker.name == "log" else None
        if value is not None and np.isneginf(value).any():
            return _xlogy(case, maker, zero)
    return _times(bad.operands)


def _times(operands: tuple[str, ...]) -> str:
    return (
        f"{operands[0]} * {operands[1]} is NaN: replace the infinity before the product, as in "
        "`jnp.where(jnp.isfinite(y), y, 0.0)`."
    )
