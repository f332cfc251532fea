"""Say what to do about a NaN or an infinity: a table of operations, what they were computed from, and a remedy."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from jaxguide.compat.primitives import LINEAR_SOLVE, SELECT
from jaxguide.debug.nan_flow import ValueFlow
from jaxguide.debug.nan_report import BadValue
from jaxguide.debug.nan_watch import NanWatch

# Whether errors in the table are raised; tests set it, users are better off without the advice.
advice_may_raise = False
_INVERSE = r"\ba(rc)?(cos|sin|tanh)\("
_SELECTS = re.compile(r"\b(where|select|select_n|cond|switch|piecewise)\(")
# Numbers at which operations and their slopes are finite, where 1.0 is none.
_SAFE = {"acos": "0.0", "asin": "0.0", "atanh": "0.0", "erf_inv": "0.0", "acosh": "2.0"}


class NanCase:
    """An operation that made a NaN or an infinity, with the facts that rows of the table ask for.

    `x` and `y` are the elements of the first two operands at the place of the bad one, or NaN, and `text` is the
    operation with what its operands come from.
    """

    def __init__(self, bad: BadValue) -> None:
        self.bad = bad
        self.primitive = bad.primitive.replace("log2", "log")  # not a primitive in JAX 0.10.2
        self.text = ValueFlow(bad.step).text.replace("log2(", "log(")
        self.trail = " ".join(bad.trail)
        self.source = bad.source or ""
        self.values = [np.asarray(value) for value in bad.step.inputs]
        self.then = bad.then.primitive if bad.then is not None else ""
        self.shown = [_number(operand) for operand in bad.operands]
        self.x, self.y = (*self.shown, np.nan, np.nan)[:2]
        types = [variable.aval.dtype for variable in bad.step.eqn.outvars] or [value.dtype for value in self.values]
        self.dtype = next((np.dtype(one) for one in types if jnp.issubdtype(one, jnp.inexact)), np.dtype("float32"))

    @property
    def dropped(self) -> bool:
        """Return whether `jnp.where` or the like, which the user wrote, drops it."""
        text = (self.bad.masked_at.text() if self.bad.masked_at else None) or ""
        return self.bad.masked_by == SELECT and _SELECTS.search(text) is not None

    @property
    def overflows(self) -> bool:
        """Return whether finite numbers gave a result that is too large."""
        floats = [value for value in self.values if jnp.issubdtype(value.dtype, jnp.inexact)]
        finite = np.isfinite(self.shown).all() or all(np.isfinite(value).all() for value in floats)
        return self.bad.overflows and bool(finite)

    @property
    def zero_times_infinity(self) -> bool:
        """Return whether one operand is 0 and the other infinite."""
        return 0.0 in (self.x, self.y) and bool(np.isinf([self.x, self.y]).any())

    @property
    def row(self) -> str:
        """Return words for the row through the bad element, along some axis, if all of it is minus infinity."""
        index, value = self.bad.index, self.values[0]
        for axis in reversed(range(value.ndim if value.ndim == len(index) else 0)):
            if np.isneginf(value).all(axis)[index[:axis] + index[axis + 1 :]]:
                return f"Row [{', '.join(map(str, (*index[:axis], ':', *index[axis + 1 :])))}]"
        return ""

    @property
    def lowest(self) -> float:
        """Return the smallest eigenvalue of the matrix of the bad element."""
        return float(np.linalg.eigvalsh(self.values[0][self.bad.index[:-2]].astype(np.float64))[0])

    @property
    def jitter(self) -> str:
        """Return a number that is small next to the elements of the matrix."""
        return f"1e{max(int(np.ceil(np.log10(np.abs(self.values[0]).max() or 1.0))), 0) - 6}"

    @property
    def out_of_bounds(self) -> str:
        """Return which index of a gather is out of bounds."""
        numbers, slices = (self.bad.step.eqn.params[one] for one in ("dimension_numbers", "slice_sizes"))
        for column, axis in enumerate(numbers.start_index_map):
            size, starts = self.values[0].shape[axis], self.values[1][..., column].ravel()
            wrong = starts[(starts < 0) | (starts > size - slices[axis])]
            if wrong.size:
                return f"The index {wrong[0]} is out of bounds for axis {axis} of size {size}"
        return ""

    def words(self) -> dict[str, str]:
        """Return what the remedies name."""
        finfo, half = jnp.finfo(self.dtype), self.dtype == np.float16
        return {
            "dtype": self.dtype.name,
            "max": f"{float(finfo.max):.6g}",
            "limit": f"{np.floor(np.log(float(finfo.max)) / 10) * 10:.1f}",
            "tiny": "1e-4" if half else "1e-12",
            "least": "1e-4" if half else "1e-30",
            "low": "-5.0" if half else "-20.0",
            "gap": {"float16": "1e-3", "bfloat16": "1e-2"}.get(self.dtype.name, "1e-6"),
            "wide": "-1e4" if half else "-1e9",
            "op": {"acos": "arccos", "asin": "arcsin", "atanh": "arctanh"}.get(self.bad.primitive, self.bad.primitive),
            "safe": _SAFE.get(self.bad.primitive, "1.0"),
            "power": f"{self.y + 1 if self.bad.backward else self.y:g}",
        }


def _number(operand: str) -> float:
    try:
        value = complex(operand)
    except ValueError:  # a type, because the shapes do not broadcast
        return np.nan
    return value.real if value.imag == 0 else np.nan


@dataclass(frozen=True)
class Remedy:
    """A row of the table.

    Args:
        primitives: a pattern for the whole name of the operation.
        says: the advice, with fields of `NanCase.words`.
        when: a condition.
        text: a pattern for what the operation computes, as `ValueFlow` writes it.
        trail: a pattern for the names of the operations that its result went through.
        source: a pattern for the user's line.
    """

    primitives: str
    says: str
    when: Callable[[NanCase], object] = lambda case: True
    text: str = ""
    trail: str = ""
    source: str = ""

    def fits(self, case: NanCase) -> bool:
        """Return whether this is what to do."""
        return bool(
            re.fullmatch(self.primitives, case.primitive)
            and re.search(self.text, case.text)
            and re.search(self.trail, case.trail)
            and re.search(self.source, case.source)
            and self.when(case)
        )


_WHERE = "`jnp.where` selects the right branch, but the other one still sends 0 * inf backward. Make "
_MASK = (
    "mask with a large finite number, such as {wide}, in place of -inf, or give such rows other numbers with "
    "`jnp.where` first."
)
_BEYOND = "The result is beyond {dtype}, whose largest number is {max}. "
# A division by a sum of ones, of a mask, or of the weights of the sum above it.
_COUNT = (
    r" / (max\(.*)?(scatter-add\(.*, 1\)|reduce_sum\(bool)|"
    r"^reduce_sum\(mul\((.+, )?(v\d+)(, .+)?\)\) / reduce_sum\(\4\)$"
)

# What `jnp.where` drops.
_DROPPED = (
    Remedy(
        "div|integer_pow",
        _WHERE + "the input safe before the risky operation: `jnp.where(ok, x / jnp.where(ok, y, 1.0), other)`. If the "
        "divisor is a root or a length, or the function in this line divides, replace its input instead, as in "
        "`jnp.linalg.norm(jnp.where(ok, x, 1.0))`.",
    ),
    Remedy(
        ".*",
        _WHERE + "the input safe before the risky operation: `jnp.where(ok, risky(jnp.where(ok, x, {safe})), other)`.",
    ),
)
# What the backward pass, or a derivative in the forward pass, makes.
_SLOPES = (
    Remedy(
        "div|integer_pow|mul",
        "Two eigenvalues or singular values are equal, and the derivative of their vectors divides by the difference: "
        "avoid differentiating the vectors, for example with a formula without them or a rule of your own, or break "
        "the tie with a small perturbation of the matrix.",
        source=r"^[^/]*$",  # not in a rule of the user's own
        text=r"\b(eigh|svd|eig)\(",
    ),
    Remedy(
        ".*",
        "`arctan2` has no derivative at (0, 0): give it a harmless direction there with `jnp.where`, as in "
        "`jnp.arctan2(y, jnp.where((x == 0) & (y == 0), 1.0, x))`.",
        source=r"\b(arctan2|atan2|angle)\(",
    ),
    Remedy(
        "div|rsqrt|sqrt|mul|integer_pow",
        "The slope of `arccos`, `arcsin` and `arctanh` is infinite at -1 and 1: clip the input a little inside, as in "
        "`jnp.clip(x, -1 + {gap}, 1 - {gap})`, or make it safe with `jnp.where` first.",
        source=_INVERSE,
    ),
    Remedy(
        "div|rsqrt|mul",
        "The slope of the square root is infinite at 0: add a small number under the root, as in `jnp.sqrt(x + "
        "{tiny})` or, for the spread of values, `jnp.sqrt(jnp.var(x) + 1e-6)`, or select a safe input with "
        "`jnp.where` first. For the square of a length, sum the squares. Squaring the root, or adding a number "
        "after it, does not help.",
        when=lambda case: 0.0 in (case.x, case.y),
        text=r" / .*sqrt\(|sqrt\(.* / |^mul\(.*sqrt\(|^rsqrt",
    ),
    Remedy(
        "pow",
        "The slope of x ** {power} is infinite at 0: raise a safe number, with a second `jnp.where`, as in "
        "`jnp.where(x > 0, jnp.where(x > 0, x, 1.0) ** {power}, 0.0)`.",
        when=lambda case: case.x == 0.0 and -1 < case.y < 0,
    ),
    Remedy(
        "div",
        f"All exponentials in the sum are 0, as in a row that is -inf throughout: {_MASK}",
        when=lambda case: case.y == 0.0,
        text=r" / (abs\()?reduce_sum\(exp",
    ),
    Remedy(
        "div",
        "The slope of the logarithm is infinite at 0: keep its input above 0, as in `jnp.log(jnp.maximum(x, "
        "{least}))`, or select a safe input with `jnp.where` first.",
        when=lambda case: case.y == 0.0,
        source=r"\blog(2|10)?\(|xlogy|entr",
    ),
    Remedy(
        ".*",
        "A slope is infinite there and multiplied by 0, as for a value that `jnp.where` drops: make the input safe "
        "before the risky operation, as in `jnp.where(ok, risky(jnp.where(ok, x, 1.0)), other)`.",
        when=lambda case: case.then == "mul",
        source=r"^[^/]*$",
    ),
)
_OVERFLOWS = (
    Remedy(
        "exp|exp2|expm1",
        f"{_BEYOND}The logistic function does not overflow as `jax.nn.sigmoid`.",
        trail=r"^((mul|neg) )*add ((mul )*(divisor|integer_pow)|mul neg)",
    ),
    Remedy(
        "exp|exp2|expm1",
        f"{_BEYOND}log(1 + exp(x)) does not overflow as `jnp.logaddexp(x, 0.0)` or `jax.nn.softplus(x)`, nor "
        "log(exp(x) "
        "+ exp(y)) as `jnp.logaddexp(x, y)`.",
        trail=r"^(add log|log1p)",
    ),
    Remedy(
        "exp|exp2",
        f"{_BEYOND}Subtract the largest value first, as `jax.nn.softmax` and `jax.nn.logsumexp` do; the logistic "
        "function is `jax.nn.sigmoid`.",
        trail=r"^(mul |select_n )*(div\b|(reduce_sum|dot_general)\b.*\b(divisor|log)\b)",
    ),
    Remedy(
        ".*",
        f"{_BEYOND}Compute this in float32, as in `x.astype(jnp.float32)`, and convert back only what is small again.",
        when=lambda case: case.dtype == np.float16,
    ),
    Remedy(
        "exp",
        f"{_BEYOND}Keep the input of `exp` below it, as in `jnp.exp(jnp.clip(x, max={{limit}}))`, or use "
        "`jax.nn.softplus`, which does not overflow, if it only has to be positive.",
        source=r"\bexp\(",
    ),
    Remedy(
        "(?!exp|sinh|cosh).*",
        f"{_BEYOND}If it grows from step to step, take smaller steps (a learning rate or a step in time), clip the "
        "gradient, or use an implicit method; otherwise scale it down first.",
    ),
    Remedy(".*", _BEYOND.strip()),
)
_ENTROPY = (
    "0 * log(0) is NaN: write `jax.scipy.special.xlogy(x, y)` for x * log(y), or `rel_entr(p, q)` for p * log(p / q), "
    "which are 0 where the factor is 0. If you need the gradient, or where only the logarithm is infinite, keep its "
    "input above 0, as in `jnp.log(jnp.maximum(y, {least}))`."
)
_LOGS = (
    Remedy(
        "log",
        "The logarithm of a sigmoid does not underflow as `jax.nn.log_sigmoid(x)`, nor log(1 - sigmoid(x)) as "
        "`jax.nn.log_sigmoid(-x)`.",
        text=r"^log\((sub\(1, )?logistic",
    ),
    Remedy(
        "log",
        "The logarithm of a softmax does not underflow as `jax.nn.log_softmax(x)`; mask its input with a large finite "
        "number, such as {wide}, in place of -inf.",
        text=r"^log\((gather\(|dynamic_slice\()*div\(exp.*, reduce_sum\((max\()?exp",
    ),
    Remedy("log", f"A row is -inf throughout: {_MASK}", text=r"^log\(.*exp\(sub\(.*is_finite"),
    Remedy(
        "log",
        f"The sum of exponentials is 0: its logarithm does not underflow as `jax.nn.logsumexp(x)`. For -inf, {_MASK}",
        text=r"^log\((reduce_sum\((exp|mul\(.*exp)|add\(exp)",
    ),
    Remedy(
        "log",
        "tanh(x) is rounded to 1 for large x: write log(1 - tanh(x)**2) as `2 * (jnp.log(2.0) - x - "
        "jax.nn.softplus(-2 * x))`.",
        text=r"^log\((sub\(1, square\(tanh|one_minus_square\(tanh)",
    ),
    Remedy("log", f"The logarithm of 0 is -inf; {_MASK}", when=lambda case: case.then == "sub"),
    Remedy("log", _ENTROPY, when=lambda case: case.then == "mul" or re.search(r"\(div\(v\d, v\d\)", case.text)),
    Remedy(
        "log|log1p",
        "The logarithm of 0 is minus infinity: keep its input away from 0, as in `jnp.log(jnp.maximum(x, {least}))`, "
        "or leave such elements out; if a function in this line takes it, replace the values before the call.",
    ),
)
_DIVISIONS = (
    Remedy("div", _ENTROPY, trail=r"^log (\w+ )*mul\b"),
    Remedy(
        "div",
        "The array is empty, or has too few values, so that their number, or their number minus `ddof`, is 0: leave "
        "such arrays out.",
        text=r" / (0|sub\((\d+), \2\))$",
    ),
    Remedy(
        "div|rsqrt",
        "The spread of constant values is 0: add a small number to the variance, before the root, as in "
        "`jnp.sqrt(jnp.var(x) + 1e-6)`.",
        source=r"\b(std|var)\(",
    ),
    Remedy(
        "rsqrt",
        "1 / sqrt(0) is infinite: keep the input above 0, as in `jax.lax.rsqrt(x + {tiny})`; if a function in this "
        "line computes it, give its `epsilon` a number above 0, such as 1e-5.",
    ),
    Remedy(
        "integer_pow|pow",
        "A negative power of 0 is infinite: raise another number there, as in `jnp.where(x == 0, 1.0, x)`.",
    ),
    Remedy(
        "div",
        "The mask selects nothing on this device, so its count is 0: for the mean over all devices, add up their sums "
        "and their counts with `jax.lax.psum`, and divide once.",
        when=lambda case: case.bad.device,
        text=_COUNT,
        trail=r"\bpsum",
    ),
    Remedy(
        "div",
        "Nothing was selected or counted here, so the count is 0: divide the sum by `jnp.maximum(count, 1)`, or let "
        "the mask select at least one element.",
        text=_COUNT,
    ),
    Remedy(
        "div",
        "These exponentials are too small for {dtype} and become 0: subtract the largest value first, as "
        "`jax.nn.softmax` "
        f"does. For -inf, {_MASK}",
        text=r" / reduce_sum\((mul\(.*)?exp",
    ),
    Remedy(
        "div",
        "The exponential is too small for {dtype} and becomes 0: clip the exponent from below, as in "
        "`jnp.exp(jnp.clip(x, min={low}))`.",
        text=r" / exp\([^()]*\)$",
    ),
    Remedy(
        "div",
        "The divisor, a length or a sum of squares, is 0, as also if the squares are too small for {dtype}: divide by "
        "`jnp.maximum(y, {tiny})` or `jnp.where(y == 0, 1.0, y)`, or by the largest component before squaring; for a "
        "gradient, make the input of a root safe as well.",
        text=r" / (mul\()?(sqrt|reduce_sum\(square|square)\(",
    ),
    Remedy(
        "div",
        "A function in this line divides by 0 for these values: keep the input away from them, give its `epsilon` a "
        "number above 0 if it has one, or replace them with `jnp.where` before the call.",
        source=r"^[^/]*\w\((?!.*\bdivide\()[^/]*$",
    ),
    Remedy("div", "It divides by 0: use another divisor there, as in `x / jnp.where(y == 0, 1.0, y)`."),
)
_INFINITIES = (
    Remedy(
        "sub", f"{{case.row}} is -inf throughout: {_MASK}", when=lambda case: case.x == case.y == -np.inf and case.row
    ),
    Remedy(
        "add|sub",
        "{case.bad.operands[0]} and {case.bad.operands[1]} have no sum or difference: keep one finite, for example "
        "with {wide} in place of -inf.",
        when=lambda case: np.isinf(case.x) and np.isinf(case.y),
    ),
    Remedy("mul", _ENTROPY, when=lambda case: case.zero_times_infinity, text=r"^mul\((v\d+, log\(|log\(.*, v\d+\))"),
    Remedy(
        "mul",
        "{case.bad.operands[0]} * {case.bad.operands[1]} is NaN: replace the infinity before the product, as in "
        "`jnp.where(jnp.isfinite(y), y, 0.0)`, or mask logits with a large finite number, such as {wide}, in place of "
        "-inf.",
        when=lambda case: case.zero_times_infinity,
    ),
    Remedy("div", "inf / inf is NaN: keep both sides finite.", when=lambda case: np.isinf(case.x) and np.isinf(case.y)),
)
_DOMAINS = (
    Remedy(
        "cholesky",
        "The matrix is not positive definite in {dtype}: its smallest eigenvalue is {case.lowest:.3g}. If that is "
        "rounding, add a small number to the diagonal first, as in `a + {case.jitter} * jnp.eye(n)`; if not, find out "
        "why.",
        when=lambda case: np.isfinite(case.values[0]).all(),
    ),
    Remedy(
        f"{LINEAR_SOLVE}|triangular_solve",
        "The matrix is singular, or nearly so: use the pseudo-inverse `jnp.linalg.pinv` or `jnp.linalg.lstsq`, or add "
        "a small number to the diagonal first, as in `a + 1e-6 * jnp.eye(n)`.",
        text=r"^triangular_solve|\blu\(",
    ),
    Remedy(
        "gather",
        "{case.out_of_bounds}, and JAX reads NaN there: keep the indices within the array.",
        when=lambda case: case.bad.made == "nan" and case.out_of_bounds,
    ),
    Remedy(
        "acos|asin|atanh|erf_inv",
        "The input of `{op}` is {case.x:.9g}, and must lie between -1 and 1: if that is rounding, clip it, as in "
        "`jnp.clip(x, -1 + {gap}, 1 - {gap})`; if not, find out why.",
        when=lambda case: abs(case.x) >= 1,
    ),
    Remedy(
        "pow",
        "A negative number to a fractional power is NaN: use `jnp.sign(x) * jnp.abs(x) ** {power}`, or find out why "
        "it is negative.",
        when=lambda case: case.x < 0,
    ),
    Remedy(
        "sqrt|rsqrt|log|log1p",
        "`{op}` of {case.x:.3g} is NaN: find out why its input is negative. If rounding makes a difference of almost "
        "equal numbers negative, keep it above 0 with `jnp.maximum(x, {tiny})`; for a variance, subtract the mean "
        "before squaring, as `jnp.var(x)` does.",
        when=lambda case: case.x < 0,
    ),
)
_LOST = Remedy(
    "div|rsqrt|log",
    "A number that is added to keep something above 0 is 0 in float16: add 1e-4 or more, or compute in float32.",
    when=lambda case: case.dtype == np.float16,
    text=r"add\(.*, 0\)",
)


def _rows(case: NanCase) -> tuple[Remedy, ...]:
    """Return the part of the table for what happened."""
    bad = case.bad
    if case.overflows and not case.dropped:
        slope = bad.then is not None and bad.then.backward and not bad.backward and "0.0" in bad.then.operands
        return _DROPPED if slope else _OVERFLOWS
    if bad.masked and not bad.backward:
        return _DROPPED if case.dropped else ()
    derivative = re.search(r"^0.5 / sqrt", case.text) or re.search(_INVERSE, case.source)
    slopes = _SLOPES if bad.backward or (derivative and bad.primitive in ("div", "rsqrt", "sqrt")) else ()
    divisor = case.y if bad.primitive == "div" else case.x
    if bad.primitive in ("div", "rsqrt", "integer_pow", "pow") and divisor == 0.0:
        return (_LOST, *slopes, *_DIVISIONS)
    return (*slopes, *_INFINITIES, *((_LOST, *_LOGS) if bad.made == "-inf" else ()), *_DOMAINS)


def advised(bad: BadValue) -> BadValue:
    """Return a copy with advice, and without what was kept to find it."""
    advice, backward = "", bad.backward
    try:
        if bad.step is not None and bad.kind == "made":
            case = NanCase(bad)
            remedy = next((one for one in _rows(case) if one.fits(case)), None)
            advice = remedy.says.format(case=case, **case.words()) if remedy is not None else ""
            # JAX marks only what it transposes, which this factor of the chain rule goes into.
            backward = backward or (remedy in _SLOPES and "transpose" in bad.trail)
    except Exception:  # a row does not understand the program
        if advice_may_raise:
            raise
    then = bad.then and bad.then.changed(step=None)
    return bad.changed(advice=advice, backward=backward, step=None, then=then)


def lead_back(watch: NanWatch) -> None:
    """Put first the overflow that became the 0 from which the first bad value was made, as 1 / inf does."""
    first = watch.reached[0] if watch.reached else None
    hidden = {id(bad.step.eqn): bad for bad in reversed(watch.masked) if bad.may_be_off and bad.step is not None}
    if first is None or first.step is None or not hidden:
        return
    zeros = [i for i, operand in enumerate(first.operands) if operand in ("0.0", "-0.0") and first.step.eqn.invars]
    flow = ValueFlow(first.step)
    found = [hidden[id(eqn)] for i in zeros for eqn in flow.behind(i) if id(eqn) in hidden]
    if found:
        watch.masked.remove(found[-1])
        watch.reached.insert(0, found[-1].changed(masked=False, masked_at=None, masked_by="", then=first))
