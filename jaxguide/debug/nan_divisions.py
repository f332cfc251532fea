"""Find what to do about a division by 0, from where the divisor comes from."""

import ast

import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.code.frames import is_library
from jaxguide.compat import collectives
from jaxguide.debug.nan_case import (
    NanCase,
    all_masked,
    argument_text,
    exponential_in,
    is_spread,
    is_square,
    operand_text,
    plain_name,
)
from jaxguide.debug.nan_exponentials import relative_entropy
from jaxguide.debug.nan_flow import TRANSPARENT, Operation, ProgramValue, ancestors, made_by, source


def division_advice(case: NanCase) -> str:
    """Advise on a division by 0, by where the divisor comes from."""
    bad = case.bad
    if bad.primitive == "rsqrt" and case.number(0) == 0.0:
        if case.caller_words is not None and (case.called or "").rpartition(".")[2] != "rsqrt":
            return _root_in_library(case)
        x = case.called_with("rsqrt") or "x"
        return "1 / sqrt(0) is infinite: keep the input above 0, as in `jax.lax.rsqrt({x} + {tiny})`.".format(
            x=x, tiny=case.small("1e-12")
        )
    if bad.primitive in ("integer_pow", "pow") and case.number(0) == 0.0 and bad.made in ("inf", "-inf"):
        return "A negative power of 0 is infinite: raise another number there, as in `jnp.where(x == 0, 1.0, x)`."
    if bad.primitive != "div" or case.number(1) != 0.0:
        return ""
    divisor = case.place(1)
    text = plain_name(operand_text(bad.source, ast.Div, right=True), "divisor")
    if divisor is None:
        return _plain_division(case, text)
    maker = made_by(divisor, through=TRANSPARENT | {"add", "max"})
    for rule in (_divergence, _empty_mask, _underflow, _one_value, _no_spread, _sinc, _no_length, _no_root):
        found = rule(case, maker, text)
        if found:
            return found
    return _plain_division(case, text)


def _root_in_library(case: NanCase) -> str:
    """Advise on 1 / sqrt(0) in a function that the user calls, by the number that it adds under the root."""
    added = None if case.operation is None else made_by(case.operation.inputs[0], "add")
    zero = added is not None and any(case.at_index(place) == 0.0 and _is_number(place) for place in added.inputs)
    name = _parameter(case, "epsilon", "eps") if zero else None
    if name is not None:
        return (
            f"{case.caller_words} takes 1 / sqrt(0), which is infinite: `{name}`, which is added under the root, is 0 "
            f"here. Give `{name}` a number above 0, such as 1e-5."
        )
    return (
        f"{case.caller_words} takes 1 / sqrt(0) for these values, which is infinite: keep the input away from them, or "
        "replace them with `jnp.where` before the call."
    )


def _is_number(place: ProgramValue) -> bool:
    """Return whether a value is a number of the program, and not computed."""
    return source(place).literal is not None


def _parameter(case: NanCase, *names: str) -> str | None:
    """Return the first of these names that a library function between the user and JAX takes or closes over."""
    for code, _instruction in compat.traceback_frames(case.step.eqn.source_info):
        if not is_library(code.co_filename):
            return None
        parameters = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *code.co_freevars)
        found = [name for name in names if name in parameters]
        if found:
            return found[0]
    return None


def _plain_division(case: NanCase, text: str) -> str:
    name = case.called
    if name is not None and name.rpartition(".")[2] == "logit":
        return f"`{name}` is infinite at 0 and 1: clip its input, as in `jnp.clip(p, {case.gap}, 1 - {case.gap})`."
    if case.is_in_library:
        return _no_epsilon(case) or (
            f"{case.caller_words} divides by 0 for these values: keep the input away from them, or replace them with "
            "`jnp.where` before the call."
        )
    return f"It divides by 0: use another divisor there, as in `x / jnp.where({text} == 0, 1.0, {text})`."


def _no_epsilon(case: NanCase) -> str:
    """Advise on the number that a function adds to its divisor, if that is 0."""
    divisor = case.place(1)
    added = None if divisor is None else made_by(divisor, "add")
    zero = added is not None and any(case.at_index(one) == 0.0 and _is_number(one) for one in added.inputs)
    name = _parameter(case, "epsilon", "eps") if zero else None
    if name is None:
        return ""
    return (
        "{function} divides by 0: `{name}`, which is added to the divisor, is 0 here. Give `{name}` a number above 0, "
        "such as {tiny}."
    ).format(function=case.caller_words, name=name, tiny=case.small("1e-8"))


def _empty_mask(case: NanCase, maker: Operation | None, text: str) -> str:
    assert case.flow is not None
    if maker is not None and maker.name == "scatter-add":
        ones = case.flow.value(maker.inputs[2])
        if ones is not None and bool((ones == 1).all()):
            return f"Nothing was counted here, so the count is 0: divide the sum by `jnp.maximum({text}, 1)`."
    top = made_by(case.place(0) or ProgramValue(), "reduce_sum")
    if top is not None and 0 in top.eqn.invars[0].aval.shape:
        return "The array is empty, so its mean is 0 / 0: leave empty arrays out."
    if maker is None or maker.name != "reduce_sum":
        return ""
    counted = maker.inputs[0]
    dtypes = set()
    while counted.maker is not None and counted.maker.name in TRANSPARENT:
        dtypes |= {str(variable.aval.dtype) for variable in counted.maker.eqn.invars[:1]}
        counted = counted.maker.inputs[0]
    summed = case.flow.value(maker.inputs[0])
    product = None if top is None else made_by(top.inputs[0], "mul")
    weighs = product is not None and source(maker.inputs[0]) in map(source, product.inputs)
    binary = weighs and summed is not None and bool(np.isin(summed, (0, 1)).all())
    if "bool" not in dtypes and not binary:
        return ""
    if case.is_in_library:
        return "The mask selects nothing here, so the count is 0: let it select at least one element."
    assert case.operation is not None
    over = case.reaches(case.operation.outputs[0], ("mul", "add", "neg"), *collectives.SUMS)
    if over is not None and case.bad.device:
        return (
            "The mask selects nothing on this device, so its count is 0: for the mean over all devices, add up their "
            f"sums and their counts with `jax.lax.psum`, and divide once. With `jnp.maximum({text}, 1)`, this device "
            "would count as 0 in what the devices add up."
        )
    divided = "The mask selects nothing here, so the count is 0: divide the sum by `jnp.maximum({y}, 1)`."
    return divided.format(y=text)


def _underflow(case: NanCase, maker: Operation | None, text: str) -> str:
    """Advise on a divisor that is 0 only because it is too small for its dtype."""
    assert case.flow is not None
    if maker is None:
        return ""
    if maker.name == "exp":
        exponent = case.at_index(maker.inputs[0])
        low = float(np.log(float(jnp.finfo(case.dtype).tiny)))
        if exponent is not None and np.isfinite(exponent) and exponent < low:
            return (
                "exp({x:.4g}) is too small for {dtype} and becomes 0: clip the exponent from below, as in "
                "`jnp.exp(jnp.clip({name}, min={least}))`."
            ).format(
                x=exponent,
                dtype=case.dtype.name,
                name=_exponent_name(maker) or "x",
                least="-5.0" if case.dtype == np.float16 else "-20.0",
            )
    exponentials = exponential_in(maker.inputs[0]) if maker.name == "reduce_sum" else None
    if exponentials is not None:
        row = case.row_of(exponentials.inputs[0], _axes(maker))
        if row is not None:
            return all_masked(case, row)
        exponents = case.flow.value(exponentials.inputs[0])
        if exponents is not None and np.isfinite(exponents).all():
            return (
                f"All these exponentials are too small for {case.dtype.name} and become 0: subtract the largest value "
                "first, as `jax.nn.softmax` does."
            )
    if maker.name in ("reduce_sum", "square", "integer_pow", "mul", "dot_general", "sqrt"):
        squared = next((one for one in ancestors(maker.outputs[0], 10) if is_square(one)), None)
        before = case.flow.value(squared.inputs[0]) if squared else None
        after = case.flow.value(squared.outputs[0]) if squared else None
        if squared is not None and squared.name == "dot_general":
            # XLA takes denormal numbers as 0.
            after = None if before is None else np.where(before**2 < jnp.finfo(before.dtype).tiny, 0, 1)
        if before is not None and after is not None and before.shape == after.shape:
            lost = (before != 0) & (after == 0)
            row = lost[case.bad.index[: lost.ndim - 1]] if lost.ndim and len(case.bad.index) >= lost.ndim - 1 else lost
            if row.any():
                return (
                    f"The squares of such small numbers become 0 in {case.dtype.name}: divide by the largest component "
                    "before squaring, or keep the divisor above 0 with `jnp.where`."
                )
    return ""


def _axes(total: Operation) -> tuple[int, ...]:
    return tuple(total.eqn.params["axes"])


def _exponent_name(maker: Operation) -> str | None:
    return argument_text(maker.line.text() if maker.line else None, ("exp",))


def _one_value(case: NanCase, maker: Operation | None, text: str) -> str:
    """Advise on a variance that divides by the number of values minus `ddof`."""
    name = (case.called or "").rpartition(".")[2]
    if name not in ("std", "var", "cov", "nanstd", "nanvar") or case.operation is None:
        return ""
    divisor = case.operation.inputs[1]
    leaves = [source(divisor)] if maker is None else [x for one in ancestors(divisor, 40) for x in one.inputs]
    if any(place.maker is None and place.literal is None for place in leaves):  # it depends on the values
        return ""
    return (
        f"`{case.called}` divides by the number of values minus `ddof`, which is 0 here: it needs more values, or a "
        "smaller `ddof`."
    )


def _divergence(case: NanCase, maker: Operation | None, text: str) -> str:
    """Advise on p * log(p / q)."""
    assert case.operation is not None
    logged = case.reaches(case.operation.outputs[0], (), "log")
    product = None if logged is None else case.reaches(logged[0].outputs[0], (), "mul")
    if product is None or source(product[0].inputs[1 - product[1]]) is not source(case.operation.inputs[0]):
        return ""
    if case.number(0) == 0.0:
        return relative_entropy()
    return (
        "p * log(p / q) is infinite where q is 0 and p is not: keep q above 0, as in `jnp.maximum(q, {tiny})`. Where p "
        "is 0, `jax.scipy.special.rel_entr(p, q)` is 0."
    ).format(tiny=case.small("1e-30"))


def _no_spread(case: NanCase, maker: Operation | None, text: str) -> str:
    """Advise on normalizing what is constant."""
    if maker is None:
        return ""
    if maker.name == "sub":
        high, low = made_by(maker.inputs[0]), made_by(maker.inputs[1])
        if high and low and high.name == "reduce_max" and low.name == "reduce_min":
            return (
                "The largest and the smallest value are equal, so the range is 0: divide by "
                f"`jnp.where({text} == 0, 1.0, {text})`."
            )
    if is_spread(maker.outputs[0]):
        return (
            "The spread of constant values is 0: add a small number to it, as in `{y} + {tiny}`; for a gradient, add "
            "it to the variance, before the root."
        ).format(y=text, tiny=case.small("1e-6"))
    return ""


def _no_length(case: NanCase, maker: Operation | None, text: str) -> str:
    assert case.flow is not None
    if maker is not None and maker.name == "mul":
        lengths = [made_by(place, "sqrt") for place in maker.inputs]
        if all(one is not None and _is_length(one) for one in lengths):
            return (
                "A vector of length 0 has no direction: divide by `jnp.maximum({y}, {tiny})`; for a gradient, make the "
                "inputs of the roots safe as well."
            ).format(y=text, tiny=case.small("1e-6"))
    if maker is None or maker.name != "sqrt" or not _is_length(maker):
        return ""
    return (
        "A vector of length 0 has no direction: divide by `jnp.maximum({y}, {tiny})`, or by `jnp.where({y} == 0, 1.0, "
        "{y})`; for a gradient, make the input of the root safe as well."
    ).format(y=text, tiny=case.small("1e-6"))


def _is_length(root: Operation) -> bool:
    return made_by(root.inputs[0], "reduce_sum", "dot_general") is not None


def _no_root(case: NanCase, maker: Operation | None, text: str) -> str:
    """Advise on 0 divided by the root of 0, as the update of an optimizer without a small number in its divisor."""
    if maker is None or maker.name != "sqrt" or case.number(0) != 0.0 or case.is_in_library:
        return ""
    return "The root of 0 is 0: add a small number to the divisor, as in `{y} + {tiny}`.".format(
        y=text, tiny=case.small("1e-8")
    )


def _sinc(case: NanCase, maker: Operation | None, text: str) -> str:
    top, bottom = case.place(0), case.place(1)
    if top is None or bottom is None:
        return ""
    wave = made_by(top, "sin", "expm1", "log1p")
    if wave is None or source(wave.inputs[0]) is not source(bottom):
        return ""
    if wave.name == "sin":
        return "sin(x) / x is 1 at 0, but 0 / 0 is NaN: use `jnp.sinc(x / jnp.pi)`."
    return "This ratio is 1 at 0, but 0 / 0 is NaN: divide by `jnp.where(x == 0, 1.0, x)` and select 1 there."
