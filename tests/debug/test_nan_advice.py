"""Test what `find_nan` advises: for each row of its table a program, and some for which a row would be wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from needs import first_of

from jaxguide.debug import find_nan, nan_advice

pytestmark = pytest.mark.long

TWO_ROWS = jnp.array([[True, False], [False, False]])


@pytest.fixture(autouse=True)
def rules_raise(monkeypatch):
    monkeypatch.setattr(nan_advice, "advice_may_raise", True)


def softmax(x):
    return jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True)


def kl(mu, log_var):
    return 0.5 * jnp.sum(jnp.exp(log_var) + mu**2 - 1 - log_var)


def descent(w):
    lr = 0.9
    for _ in range(8):
        w = w - lr * jax.grad(lambda w: jnp.sum((w**2 - 1) ** 2))(w)
    return w


def masked_softmax(x):
    return jax.nn.softmax(jnp.where(TWO_ROWS, x, -jnp.inf), -1)


def masked_logsumexp(x):
    return jax.nn.logsumexp(jnp.where(TWO_ROWS, x, -jnp.inf), -1).sum()


def entropy(p):
    logp = jnp.log(p)
    return -(p * logp).sum()


def rms(x):
    return x / jnp.sqrt(jnp.mean(x**2))


def relative(p, q):
    return jnp.sum(p * jnp.log(p / q))


def segment_mean(x, ids):
    count = jax.ops.segment_sum(jnp.ones_like(x), ids, num_segments=3)
    return jax.ops.segment_sum(x, ids, num_segments=3) / count


def mean_of_masked(x, mask):
    return jnp.sum(jnp.where(mask, x, 0.0)) / jnp.sum(mask)


def variance_by_hand(x):
    return jnp.sqrt((x**2).mean(-1) - x.mean(-1) ** 2)


def drag(v):
    return 0.05 * v**1.7


def normalized_by_squares(x):
    mean_square = jnp.mean(x * x, -1, keepdims=True)
    return jnp.log(jnp.abs(x / jnp.sqrt(mean_square)))


def unrelated_overflow(x):
    return (1 / (x * x)).sum() + jnp.log(x - x).sum()


def mean_over_devices(mask):
    def mean(x, mask):
        return jax.lax.pmean(jnp.sum(x * mask) / jnp.sum(mask), "data")

    spec = jax.sharding.PartitionSpec("data")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    return jax.shard_map(mean, mesh=mesh, in_specs=spec, out_specs=jax.sharding.PartitionSpec())(jnp.ones(2), mask)


@jax.custom_vjp
def rule(x):
    return 2 * x


rule.defvjp(lambda x: (rule(x), x), lambda x, g: (g / x,))


def says(fn, *args):
    """Return the report without the source lines, which hold what is searched for."""
    lines = str(find_nan(fn, *args)).splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("      "))


# The name of a kind: a program with its arguments, and what the advice says.
KINDS = {
    "softmax": (softmax, (jnp.array([1.0, 1000.0]),), "Subtract the largest value first"),
    "log of a mean": (lambda x: jnp.log(jnp.exp(x).mean()), (jnp.array([1.0, 99.0]),), "Subtract the largest value"),
    "KL term": (kl, (jnp.zeros(2), jnp.array([1.0, 99.0])), "`jnp.exp(jnp.clip(x, max=80.0))`"),
    "softplus": (lambda x: jnp.log(1 + jnp.exp(x)), (99.0,), "`jax.nn.softplus(x)`"),
    "log1p of exp": (lambda x: jnp.log1p(jnp.exp(x)), (99.0,), "`jnp.logaddexp(x, 0.0)`"),
    "sigmoid": (jax.grad(lambda x: 1 / (1 + jnp.exp(-x))), (-99.0,), "`jax.nn.sigmoid`"),
    "learning rate": (descent, (jnp.array([3.0]),), "take smaller steps (a learning rate"),
    "float16": (lambda x: (x**2).mean(), (jnp.full(4, 300, "float16"),), "is 65504. Compute this in float32"),
    "swallowed overflow": (rms, (jnp.array([1e20, 1.0]),), "the result may be off. The result is beyond float32"),
    "overflow that became 0": (normalized_by_squares, (jnp.full((2, 4), 300.0, "float16"),), "it became -inf at"),
    "log of a softmax": (
        lambda x: jnp.log(jax.nn.softmax(x)[1]),
        (jnp.array([200.0, 0.0]),),
        "`jax.nn.log_softmax(x)`",
    ),
    "log of a sigmoid": (lambda x: jnp.log(1 - jax.nn.sigmoid(x)), (99.0,), "`jax.nn.log_sigmoid(-x)`"),
    "log of 1 - tanh²": (lambda x: jnp.log(1 - jnp.tanh(x) ** 2), (30.0,), "jax.nn.softplus(-2 * x)"),
    "log of a weighted sum": (lambda x: jnp.log((0.5 * jnp.exp(-x)).sum()), (jnp.full(2, 200.0),), "jax.nn.logsumexp"),
    "entropy": (entropy, (jnp.array([0.0, 1.0]),), "`jax.scipy.special.xlogy(x, y)`"),
    "relative entropy": (relative, (jnp.array([0.5, 0.5]), jnp.array([0.0, 1.0])), "`rel_entr(p, q)`"),
    "log of 0 in float16": (lambda x: jnp.log(x), (jnp.zeros(2, "float16"),), "jnp.maximum(x, 1e-4)"),
    "masked row": (masked_softmax, (jnp.ones((2, 2)),), "Row [1, :] is -inf throughout: mask with a large finite"),
    "masked column": (lambda x: jax.nn.softmax(x, 0), (jnp.full((2, 2), -jnp.inf).at[0, 0].set(1.0),), "Row [:, 1] is"),
    "masked row of logsumexp": (masked_logsumexp, (jnp.ones((2, 2)),), "A row is -inf throughout: mask with"),
    "gradient of it": (jax.grad(masked_logsumexp), (jnp.ones((2, 2)),), "a row that is -inf throughout: mask with"),
    "mask as a logarithm": (lambda m: jax.nn.softmax(1 + jnp.log(m)), (jnp.zeros(2),), "is -inf; mask with"),
    "empty mask": (mean_of_masked, (jnp.ones(3), jnp.zeros(3, bool)), "`jnp.maximum(count, 1)`"),
    "empty mask on a device": (mean_over_devices, (jnp.zeros(2),), "and divide once"),
    "empty segment": (segment_mean, (jnp.ones(3), jnp.array([0, 0, 2])), "Nothing was selected or counted here"),
    "empty array": (lambda x: x[:0].mean(), (jnp.ones(3),), "The array is empty"),
    "one value": (jax.jit(lambda x: jnp.std(x, ddof=1)), (jnp.ones(1),), "their number minus `ddof`, is 0"),
    "spread": (jax.jit(lambda x: (x - x.mean()) / x.std()), (jnp.ones(3),), "The spread of constant values is 0"),
    "epsilon": (lambda x: jax.nn.standardize(x, epsilon=0.0), (jnp.ones(3),), "give its `epsilon` a number above 0"),
    "unit vector": (lambda x: x / jnp.linalg.norm(x), (jnp.zeros(3),), "a length or a sum of squares, is 0"),
    "squares underflow": (
        lambda x: x / jnp.sum(x**2),
        (jnp.full(2, 1e-30),),
        "by the largest component before squaring",
    ),
    "exp underflows": (lambda x, s: x / jnp.exp(s), (1.0, -120.0), "`jnp.exp(jnp.clip(x, min=-20.0))`"),
    "small number in float16": (lambda v: 1 / jnp.sqrt(v + 1e-8), (jnp.zeros(2, "float16"),), "add 1e-4 or more"),
    "a rule of the user's": (jax.grad(lambda x: rule(x)), (0.0,), "It divides by 0: use another divisor"),
    "variance by rounding": (
        jax.vmap(variance_by_hand),
        (jnp.full((2, 3), 4097.1),),
        "subtract the mean before squaring",
    ),
    "fractional power": (drag, (-2.0,), "jnp.sign(x) * jnp.abs(x) ** 1.7"),
    "arccos": (jnp.arccos, (1.0000001,), "`arccos` is 1.0000001, and must lie between -1 and 1"),
    "out of bounds": (lambda x, i: jnp.take(x, i), (jnp.ones(3), jnp.array([0, 7])), "The index 7 is out of bounds"),
    "cholesky": (jnp.linalg.cholesky, (jnp.array([[4.0, 2.0], [2.0, 1.0]]) * 1e4,), "`a + 1e-1 * jnp.eye(n)`"),
    "inverse": (jnp.linalg.inv, (jnp.array([[1.0, 2.0], [2.0, 4.0]]),), "The matrix is singular, or nearly so"),
    "0 times infinity": (lambda x: x * jnp.zeros(2), (jnp.array([1.0, -jnp.inf]),), "replace the infinity before"),
    "inf minus inf": (lambda x: x - x, (jnp.inf,), "inf and inf have no sum or difference"),
}
SLOPES = {
    "norm": (lambda x: jnp.linalg.norm(x), jnp.zeros(3), "The slope of the square root is infinite at 0"),
    "squared norm": (lambda x: jnp.linalg.norm(x) ** 2, jnp.zeros(3), "For the square of a length, sum the squares"),
    "std": (lambda x: x.std(), jnp.ones(3), "for the spread of values, `jnp.sqrt(jnp.var(x) + 1e-6)`"),
    "root as a power": (lambda x: (x**0.5).sum(), jnp.array([1.0, 0.0]), "The slope of x ** 0.5 is infinite at 0"),
    "arccos": (lambda c: jnp.arccos(c).sum(), jnp.array([0.0, 1.0]), "jnp.clip(x, -1 + 1e-6, 1 - 1e-6)"),
    "arctan2": (lambda v: jnp.arctan2(v[1], v[0]), jnp.zeros(2), "`arctan2` has no derivative at (0, 0)"),
    "log": (jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0).sum()), jnp.zeros(2), "jnp.where(ok, risky("),
    "eigenvectors": (lambda a: jnp.linalg.eigh(a)[1][0, 0], jnp.eye(2), "Two eigenvalues or singular values are equal"),
    "singular vectors": (lambda a: jnp.linalg.svd(a)[0][0, 0], jnp.eye(2), "Two eigenvalues or singular values are"),
    "where": (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0).sum(), jnp.array([1.0, 0.0]), "safe input with `jnp.where`"),
    "where of exp": (
        lambda x: jnp.where(x < 50, jnp.exp(x), 0.0).sum(),
        jnp.array([1.0, 99.0]),
        "jnp.where(ok, risky(",
    ),
    "where of a division": (
        lambda x: jnp.where(x != 0, 1 / x, 0.0).sum(),
        jnp.array([1.0, 0.0]),
        "`jnp.where(ok, x / jnp.where(ok, y, 1.0), other)`",
    ),
}


@pytest.mark.parametrize("kind", first_of(KINDS, 16))
def test_the_advice_fits_the_kind(kind):
    fn, args, advice = KINDS[kind]
    assert advice in says(fn, *args)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: jax.jit(jax.grad(jax.jit(f)))], ids=["f", "jit"])
@pytest.mark.parametrize("kind", first_of(SLOPES, 4))
def test_the_advice_fits_the_slope(kind, wrap):
    fn, x, advice = SLOPES[kind]
    assert not np.isfinite(jax.grad(fn)(x)).all()
    assert advice in says(wrap(fn), x)


@pytest.mark.parametrize("kind", first_of(["where", "norm", "arctan2"], 1))
def test_the_advice_holds_under_vmap_in_a_checkpoint_and_for_second_derivatives(kind):
    fn, x, advice = SLOPES[kind]
    assert advice in says(jax.vmap(jax.grad(fn)), jnp.stack([x + 1.0, x]))
    assert advice in says(jax.grad(jax.checkpoint(fn)), x)
    assert advice in says(jax.hessian(fn), x)


# Programs that look like one of the kinds: what must not be said.
LIKE = {
    "an exponential that divides nothing": (
        lambda x: jnp.exp(x).sum() / 3,
        (jnp.array([99.0]),),
        "largest value first",
    ),
    "an exponential that is not clipped alone": (softmax, (jnp.array([1.0, 1000.0]),), "jnp.clip"),
    "bfloat16, as wide as float32": (lambda x: x * x, (jnp.full(3, 1e30, "bfloat16"),), "Compute this in float32"),
    "a sum that is 0": (lambda x: x / x.sum(-1, keepdims=True), (jnp.zeros((2, 2)),), "Nothing was selected"),
    "a sum of exponentials above": (
        jax.grad(lambda x: (jax.nn.softmax(x)[:1] * jnp.log(x[1:])).sum()),
        (jnp.array([1.0, 0.0]),),
        "All exponentials",
    ),
    "a row with something left": (lambda x: masked_softmax(x)[0], (jnp.ones((1, 2)),), "Row [0, :]"),
    "log of what is not a softmax": (lambda x, y: jnp.log(x / y), (0.0, 2.0), "softmax"),
    "log of 0 without a factor": (lambda p: jnp.log(p).sum(), (jnp.array([0.0, 1.0]),), "xlogy"),
    "an element that where takes": (lambda x: jnp.where(x >= 0, jnp.log(x), 0.0).sum(), (jnp.zeros(2),), "risky("),
    "an overflow that where drops": (lambda x: jnp.where(x < 9, jnp.exp(x), 0.0), (jnp.array([99.0]),), "may be off"),
    "1 / 0, an infinity that is exact": (lambda x: 3 / jnp.sum(1 / x), (jnp.array([0.0, 1.0]),), "may be off"),
    "the slope of a root, not a division": (jax.grad(lambda x: jnp.sqrt(x) / 3), (0.0,), "It divides by 0"),
    "float16, nothing lost": (lambda v: 1 / (v + 1), (jnp.full(2, -1.0, "float16"),), "is 0 in float16"),
    "an overflow beside the log of 0": (unrelated_overflow, (jnp.full(3, 300.0, "float16"),), "it became"),
    "a mask that a library selects by": (
        lambda x: jax.nn.softmax(x, where=jnp.zeros(2, bool)).sum(),
        (jnp.ones(2),),
        "selects the right branch",
    ),
    "an index in bounds": (lambda x, i: jnp.take(x, i) / 0.0, (jnp.ones(3), jnp.array([0, 2])), "out of bounds"),
}


SELECTS = {
    "where": lambda x: jnp.where(x > 2, jnp.log(x - 4), x),
    "cond under vmap": jax.vmap(lambda t: jax.lax.cond(t > 2, lambda t: jnp.log(t - 4), lambda t: t, t)),
}


@pytest.mark.parametrize("kind", SELECTS)
def test_the_element_is_one_that_is_selected(kind):
    bad = find_nan(SELECTS[kind], jnp.array([1.0, 4.0])).first
    assert (bad.index, bad.made, bad.operands) == ((1,), "-inf", ("0.0",))


def test_an_infinity_became_nan_where_it_was():
    first, second = find_nan(relative, jnp.array([0.5, 0.0]), jnp.array([0.0, 0.5])).found
    assert (first.primitive, first.index, first.then) == ("div", (0,), None)
    assert (second.primitive, second.index, second.then.primitive) == ("log", (1,), "mul")


@pytest.mark.parametrize("kind", first_of(LIKE, 8))
def test_similar_programs_do_not_get_the_advice(kind):
    fn, args, advice = LIKE[kind]
    assert advice not in says(fn, *args)


def test_the_advice_works():
    assert np.isfinite(jax.nn.softmax(jnp.where(TWO_ROWS, 1.0, -1e9), -1)).all()
    assert np.isfinite(jnp.linalg.cholesky(jnp.array([[1.0, 1.0], [1.0, 0.999999]]) + 1e-6 * jnp.eye(2))).all()
    logs = 2 * (jnp.log(2.0) - 30.0 - jax.nn.softplus(-60.0))
    np.testing.assert_allclose(logs, np.log(1 - np.tanh(30.0 / 4) ** 2) * 4, rtol=0.1)
    assert np.isfinite(jax.grad(lambda x: jnp.sqrt(x + 1e-12))(0.0))
    assert np.isfinite(jax.grad(lambda c: jnp.arccos(jnp.clip(c, -1 + 1e-6, 1 - 1e-6)))(1.0))
    assert np.isfinite(jax.grad(lambda x: jnp.where(x > 0, jnp.where(x > 0, x, 1.0) ** 0.5, 0.0))(0.0))


def test_an_infinity_is_followed_to_the_nan_that_it_becomes():
    report = find_nan(entropy, jnp.array([0.0, 1.0]))
    assert (report.first.primitive, report.first.then.primitive) == ("log", "mul")
    assert report.first.then.line.number == report.first.line.number + 1
    assert "it became nan at test_nan_advice.py" in str(report)


def test_an_infinite_argument_is_not_guilty_of_a_nan_made_from_it():
    report = find_nan(lambda x: x * jnp.zeros(2), jnp.array([1.0, -jnp.inf]))
    assert report.bad_arguments == ["x"]
    assert (report.first.primitive, report.first.index) == ("mul", (1,))


def test_elements_that_another_operation_made_bad_are_told_apart():
    def both(x, m):
        scores = jnp.where(m, x, -jnp.inf)
        return scores * jnp.where(m, 1.0, jnp.log(x - x) / jnp.log(x - x))  # the NaN is of another array

    bad = find_nan(both, jnp.ones(2), jnp.array([True, False])).first
    assert (bad.primitive, bad.made) == ("log", "-inf")


def test_no_advice_is_kept_with_the_values_of_the_program():
    report = find_nan(entropy, jnp.array([0.0, 1.0]))
    assert all(bad.step is None and (bad.then is None or bad.then.step is None) for bad in report.found)


def test_a_rule_that_fails_costs_only_the_advice(monkeypatch):
    monkeypatch.setattr(nan_advice, "advice_may_raise", False)
    monkeypatch.setattr(nan_advice, "_rows", lambda case: 1 / 0)
    assert find_nan(jnp.log, 0.0).first.advice == ""
