"""Test what `find_nan` advises: for each kind of NaN a program, and one like it where the advice would be wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from needs import first_of

from jaxguide.debug import find_nan, nan_watch

pytestmark = pytest.mark.long

TWO_ROWS = jnp.array([[True, False], [False, False]])


@pytest.fixture(autouse=True)
def rules_raise(monkeypatch):
    monkeypatch.setattr(nan_watch, "advice_may_raise", True)


def softmax(x):
    return jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True)


def kl(mu, log_var):
    return 0.5 * jnp.sum(jnp.exp(log_var) + mu**2 - 1 - log_var)


def descent(rate):
    def step(w, _):
        return w - rate * jax.grad(lambda w: jnp.sum((w**2 - 1) ** 2))(w), None

    return lambda w: jax.lax.scan(step, w, None, length=30)[0]


def descent_in_python(w):
    lr = 0.9
    for _ in range(8):
        w = w - lr * jax.grad(lambda w: jnp.sum((w**2 - 1) ** 2))(w)
    return w


def squares_itself(x):
    return jax.lax.scan(lambda c, _: (c * c + 1.0, c), x, None, length=20)[0]


def overflows_at_once(x):
    return jax.lax.scan(lambda c, _: (c * 1e30 * 1e30, None), x, None, length=5)[0]


def masked_scores(mask, x):
    return jax.nn.softmax(jnp.where(mask, x, -jnp.inf), -1)


def entropy(p):
    logp = jnp.log(p)
    return -(p * logp).sum()


def rms(x):
    return x / jnp.sqrt(jnp.mean(x**2))


def focal(logits, y):
    p = jax.nn.sigmoid(logits)
    return -(y * jnp.log(p) + (1 - y) * jnp.log(1 - p)) * (1 - p) ** 2


def forward_algorithm(likelihoods):
    step = lambda a, one: (a.mean() * one, None)  # noqa: E731
    return jnp.log(jax.lax.scan(step, jnp.full(2, 0.5), likelihoods)[0].sum())


def relative(p, q):
    return jnp.sum(p * jnp.log(p / q))


def log_add(a, b):
    return jnp.maximum(a, b) + jnp.log1p(jnp.exp(-jnp.abs(a - b)))


def segment_mean(x, ids):
    count = jax.ops.segment_sum(jnp.ones_like(x), ids, num_segments=3)
    return jax.ops.segment_sum(x, ids, num_segments=3) / count


def cosine(a, b):
    return a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b))


@jax.custom_vjp
def rule(x):
    return 2 * x


rule.defvjp(lambda x: (rule(x), x), lambda x, g: (g / x,))


def uses_rule(x):
    return rule(x)


def unstable(x):
    return jax.lax.scan(lambda c, _: (c * 1e3, None), jnp.float32(0.0) * x, None, length=30)[0]


def mean_of_masked(x, mask):
    return jnp.sum(jnp.where(mask, x, 0.0)) / jnp.sum(mask)


def log_sum(logits):
    return jax.nn.logsumexp(jnp.where(TWO_ROWS, logits, -jnp.inf), -1).sum()


def root(nu):
    return jnp.sqrt(nu).sum()


def angle(c):
    return jnp.arccos(c).sum()


def variance_by_hand(x):
    mean = x.mean(-1, keepdims=True)
    return jnp.sqrt((x**2).mean(-1, keepdims=True) - mean**2)


def drag(v):
    return 0.05 * v**1.7


def standardized(x, log_std):
    return x / jnp.exp(log_std)


def says(fn, *args):
    """Return the report without the source lines, which hold what is searched for."""
    lines = str(find_nan(fn, *args)).splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("      "))


def normalized_by_squares(x):
    mean_square = jnp.mean(x * x, -1, keepdims=True)
    return jnp.log(jnp.abs(x / jnp.sqrt(mean_square)))


def euler(step):
    return lambda y: jax.lax.scan(lambda y, _: (y - step * 50 * (y**3 - y), None), y, None, length=20)[0]


def mean_over_devices(mask):
    def mean(x, mask):
        return jax.lax.pmean(jnp.sum(x * mask) / jnp.sum(mask), "data")

    spec = jax.sharding.PartitionSpec("data")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    return jax.shard_map(mean, mesh=mesh, in_specs=spec, out_specs=jax.sharding.PartitionSpec())(jnp.ones(2), mask)


def grows_at_a_rate(n):
    rate = 40.0
    return jax.lax.scan(lambda n, _: (n + rate * n * n, None), n, None, length=20)[0]


def unrelated_overflow(x):
    return (1 / (x * x)).sum() + jnp.log(x - x).sum()


# The name of a kind: a program with its arguments, and what the advice says.
KINDS = {
    "softmax": (softmax, (jnp.array([1.0, 1000.0]),), "Subtract the largest value first"),
    "log of a sum": (
        lambda x: jnp.log(jnp.exp(x).sum()),
        (jnp.array([1.0, 99.0]),),
        "Subtract the largest value first",
    ),
    "log of a mean": (lambda x: jnp.log(jnp.exp(x).mean()), (jnp.array([1.0, 99.0]),), "Subtract the largest value"),
    "KL term": (kl, (jnp.zeros(2), jnp.array([1.0, 99.0])), "`jnp.exp(jnp.clip(log_var, max=80.0))`"),
    "softplus": (lambda x: jnp.log(1 + jnp.exp(x)), (99.0,), "`jnp.logaddexp(x, 0.0)`"),
    "log1p of exp": (lambda x: jnp.log1p(jnp.exp(x)), (99.0,), "`jnp.logaddexp(x, 0.0)`"),
    "two exponentials": (lambda x, y: jnp.log(jnp.exp(x) + jnp.exp(y)), (99.0, 1.0), "`jnp.logaddexp(x, y)`"),
    "sigmoid": (jax.grad(lambda x: 1 / (1 + jnp.exp(-x))), (-99.0,), "`jax.nn.sigmoid`"),
    "learning rate": (descent(0.9), (jnp.array([3.0, 2.0]),), "take a smaller learning rate or step size (`rate`)"),
    "learning rate in Python": (descent_in_python, (jnp.array([3.0]),), "learning rate or step size (`lr`)"),
    "recurrence": (squares_itself, (2.0,), "The values grew from 2 to 4.41e+22 in 6 steps: the recurrence diverges"),
    "float16": (
        lambda x: (x**2).mean(),
        (jnp.full(4, 300, "float16"),),
        "largest number is 65504. Compute this in float32",
    ),
    "float16 sum": (jnp.sum, (jnp.ones(70000, "float16"),), "largest number is 65504. Compute this in float32"),
    "product": (jnp.prod, (jnp.full(60, 1e3),), "Sum the logarithms"),
    "norm of large numbers": (lambda x: jnp.sqrt(jnp.sum(x**2)), (jnp.full(3, 1e30),), "the largest component"),
    "log of a softmax": (lambda x: jnp.log(jax.nn.softmax(x)), (jnp.array([0.0, 200.0]),), "`jax.nn.log_softmax(x)`"),
    "log of a sigmoid": (lambda x: jnp.log(jax.nn.sigmoid(x)), (-200.0,), "`jax.nn.log_sigmoid(x)`"),
    "log of 1 - sigmoid": (lambda x: jnp.log(1 - jax.nn.sigmoid(x)), (99.0,), "`jax.nn.log_sigmoid(-x)`"),
    "log of 1 - tanh²": (lambda x: jnp.log(1 - jnp.tanh(x) ** 2), (30.0,), "jax.nn.softplus(-2 * x)"),
    "log of a product": (lambda x: jnp.log(jnp.prod(x)), (jnp.full(60, 1e-3),), "sum the logarithms"),
    "log of a tail": (lambda x: jnp.log(jax.scipy.stats.norm.cdf(x)), (-50.0,), "`jax.scipy.stats.norm.logcdf(x)`"),
    "entropy": (entropy, (jnp.array([0.0, 1.0]),), "`jax.scipy.special.xlogy(p, p)`"),
    "cross entropy": (lambda p, y: -(y * jnp.log(p)).sum(), (jnp.eye(2)[0], jnp.eye(2)[0]), "jax.scipy.special.xlogy"),
    "entropy of logits": (
        lambda m, x: (lambda logp: (jnp.exp(logp) * logp).sum())(jax.nn.log_softmax(jnp.where(m, x, -jnp.inf))),
        (jnp.array([True, False]), jnp.ones(2)),
        "The probability is exp(-inf) = 0",
    ),
    "masked row": (masked_scores, (TWO_ROWS, jnp.ones((2, 2))), "Row [1, :] is -inf throughout"),
    "masked row by hand": (lambda m, x: softmax(jnp.where(m, x, -jnp.inf)), (TWO_ROWS, jnp.ones((2, 2))), "Row [1, :]"),
    "masked column": (
        lambda x: jax.nn.softmax(x, 0),
        (jnp.full((2, 2), -jnp.inf).at[0, 0].set(1.0),),
        "Row [:, 1] is -inf",
    ),
    "masked logsumexp, gradient": (jax.grad(log_sum), (jnp.ones((2, 2)),), "Row [1, :] is -inf throughout"),
    "mask as a logarithm": (
        lambda m, x: jax.nn.softmax(x + jnp.log(m)),
        (jnp.zeros(2), jnp.ones(2)),
        "-inf throughout",
    ),
    "empty mask": (mean_of_masked, (jnp.ones(3), jnp.zeros(3, bool)), "The mask selects nothing here"),
    "empty mask on a device": (mean_over_devices, (jnp.zeros(2),), "and divide once"),
    "step in time": (euler(0.1), (2.0,), "or use an implicit method"),
    "epsilon of a function": (lambda x: jax.nn.standardize(x, epsilon=0.0), (jnp.ones(3),), "Give `epsilon` a number"),
    "overflow that became 0": (
        normalized_by_squares,
        (jnp.full((2, 4), 300.0, "float16"),),
        "it became -inf at test_nan_advice.py",
    ),
    "empty mask of jnp.mean": (lambda x: x.mean(where=x > 5), (jnp.ones(3),), "The mask selects nothing here"),
    "empty array": (lambda x: x[:0].mean(), (jnp.ones(3),), "The array is empty"),
    "range": (lambda x: (x - x.min()) / (x.max() - x.min()), (jnp.ones(3),), "the range is 0"),
    "spread": (lambda x: (x - x.mean()) / x.std(), (jnp.ones(3),), "The spread of constant values is 0"),
    "unit vector": (lambda x: x / jnp.linalg.norm(x), (jnp.zeros(3),), "A vector of length 0 has no direction"),
    "exp underflows": (standardized, (1.0, -120.0), "clip(log_std, min=-20.0)"),
    "squares underflow": (lambda x: x / jnp.sum(x**2), (jnp.full(2, 1e-30),), "squares of such small numbers become 0"),
    "sinc": (lambda x: jnp.sin(x) / x, (jnp.zeros(2),), "`jnp.sinc(x / jnp.pi)`"),
    "reciprocal root": (lambda x: x * jax.lax.rsqrt(jnp.sum(x**2)), (jnp.zeros(2),), "1 / sqrt(0) is infinite"),
    "variance by rounding": (jax.vmap(variance_by_hand), (jnp.full((2, 3), 4097.1),), "Rounding makes the variance"),
    "1 - c² by rounding": (lambda c: jnp.sqrt(1 - c * c), (1.0000001,), "Rounding makes the difference"),
    "fractional power": (drag, (-2.0,), "jnp.sign(v) * jnp.abs(v) ** 1.7"),
    "arccos by rounding": (jnp.arccos, (1.0000001,), "clip it, as in `jnp.clip(x, -1, 1)`"),
    "arctanh at 1": (lambda x: jnp.arctanh(jnp.tanh(x)), (20.0,), "clip it"),
    "out of bounds": (lambda x, i: jnp.take(x, i), (jnp.ones(3), jnp.array([0, 7])), "The index 7 is out of bounds"),
    "cholesky": (jnp.linalg.cholesky, (jnp.array([[1.0, 1.0], [1.0, 0.999999]]),), "`a + 1e-6 * jnp.eye(2)`"),
    "inverse": (jnp.linalg.inv, (jnp.array([[1.0, 2.0], [2.0, 4.0]]),), "singular: its rank is 1"),
    "solve": (jnp.linalg.solve, (jnp.ones((3, 3)), jnp.ones(3)), "The 3 by 3 matrix is singular: its rank is 1"),
    "log determinant": (lambda a: jnp.linalg.slogdet(a)[1], (jnp.ones((2, 2)),), "its determinant is 0"),
    "logistic function as a ratio": (
        lambda x: jnp.exp(x) / (1 + jnp.exp(x)),
        (jnp.array([1.0, 99.0]),),
        "overflow as `jax.nn.sigmoid`",
    ),
    "swallowed overflow": (rms, (jnp.array([1e20, 1.0]),), "the result may be off. The result is beyond float32"),
    "Bessel function": (lambda x: jnp.log(jax.scipy.special.i0(x)), (120.0,), "`jax.scipy.special.i0e(x)`"),
    "log of a chosen softmax": (lambda x: jnp.log(jax.nn.softmax(x)[1]), (jnp.array([200.0, 0.0]),), "log_softmax(x)"),
    "weighted log of a sigmoid": (focal, (jnp.array([40.0]), jnp.zeros(1)), "`jax.nn.log_sigmoid(-x)`"),
    "log in float16": (jax.jit(lambda x: jnp.log(x)), (jnp.zeros(2, "float16"),), "jnp.maximum(x, 1e-4)"),
    "log of a complex number": (jax.jit(lambda z: jnp.log(z)), (jnp.zeros(1, "complex64"),), "jnp.where(z == 0, 1.0"),
    "log in a library": (
        jax.jit(lambda x: jax.scipy.stats.beta.logpdf(x, 0.5, 2.0)),
        (0.0,),
        "takes the logarithm of 0",
    ),
    "values that shrink": (
        forward_algorithm,
        (jnp.full((200, 2), 1e-3),),
        "The values shrank from 0.5 to 0 in the loop",
    ),
    "relative entropy, p": (
        relative,
        (jnp.array([0.0, 1.0]), jnp.array([0.5, 0.5])),
        "special.rel_entr(p, q)`, which is",
    ),
    "relative entropy, q": (
        relative,
        (jnp.array([0.5, 0.5]), jnp.array([0.0, 1.0])),
        "infinite where q is 0 and p is not",
    ),
    "relative entropy, both": (
        relative,
        (jnp.array([0.0, 1]), jnp.array([0.0, 1.0])),
        "special.rel_entr(p, q)`, which is",
    ),
    "log of a sum by hand": (log_add, (-jnp.inf, -jnp.inf), "`jnp.logaddexp(a, b)`"),
    "empty segment": (segment_mean, (jnp.ones(3), jnp.array([0, 0, 2])), "Nothing was counted here"),
    "one value": (
        jax.jit(lambda x: jnp.std(x, ddof=1)),
        (jnp.ones(1),),
        "`jnp.std` divides by the number of values minus",
    ),
    "cosine": (cosine, (jnp.zeros(3), jnp.ones(3)), "A vector of length 0 has no direction"),
    "optimizer without a small number": (
        lambda m, v: m / jnp.sqrt(v),
        (jnp.zeros(2), jnp.zeros(2)),
        "`divisor + 1e-8`",
    ),
    "small number in float16": (
        lambda v: 1 / jnp.sqrt(v + 1e-8),
        (jnp.zeros(2, "float16"),),
        "is 0 in float16: add 1e-4 or more",
    ),
    "logit": (jax.jit(lambda p: jax.scipy.special.logit(p)), (jnp.ones(2),), "infinite at 0 and 1: clip its input"),
    "division in a library": (jax.jit(lambda x: jnp.corrcoef(x)), (jnp.ones((2, 3)),), "`jnp.corrcoef` divides by 0"),
    "complex division": (lambda z: z / jnp.abs(z), (jnp.zeros(1, "complex64"),), "It divides by 0"),
    "rule of the user's own": (jax.grad(uses_rule), (0.0,), "It divides by 0"),
    "determinant": (lambda a: jnp.log(jnp.abs(jnp.linalg.det(a))), (jnp.ones((2, 2)),), "so its determinant is 0"),
    "small determinant": (lambda a: jnp.log(jnp.linalg.det(a)), (jnp.eye(2) * 1e-30,), "`jnp.linalg.slogdet`"),
    "cholesky of large numbers": (
        jnp.linalg.cholesky,
        (jnp.array([[4.0, 2.0], [2.0, 1.0]]) * 1e4,),
        "`a + 1e-1 * jnp.eye(2)`",
    ),
    "arccosh": (jnp.arccosh, (0.5,), "its input must be 1 or more"),
    "pole": (jax.scipy.special.digamma, (-1.0,), "poles at 0 and at the negative integers"),
    "incomplete gamma": (jax.scipy.special.gammainc, (2.0, -1.0), "needs a > 0 and x >= 0"),
    "exploding gradient": (jax.grad(unstable), (1.0,), "of the backward pass: the gradient explodes"),
    "0 times an infinity": (lambda x: x * jnp.zeros(2), (jnp.array([1.0, -jnp.inf]),), "replace the infinity before"),
    "inf minus inf": (lambda x: x - x, (jnp.inf,), "inf minus inf is NaN"),
    "entropy of a masked softmax": (
        lambda m, x: entropy(jax.nn.softmax(jnp.where(m, x, -jnp.inf))),
        (jnp.array([True, False]), jnp.ones(2)),
        "`jax.nn.log_softmax(x)`, and mask `x` with a large finite number, such as -1e9",
    ),
    "logsumexp of a masked row": (
        lambda x: jax.nn.logsumexp(x, axis=1),
        (jnp.array([[0.0, 1.0], [-jnp.inf, -jnp.inf]]),),
        "Row [1, :] is -inf throughout",
    ),
    "log of another tail": (lambda x: jnp.log(jax.scipy.stats.norm.sf(x)), (50.0,), "`jax.scipy.stats.norm.logsf(x)`"),
    "log of a weighted sum": (lambda x: jnp.log((0.5 * jnp.exp(-x)).sum()), (jnp.full(2, 200.0),), "(x, b=weights)`"),
    "unit of an angle": (
        lambda v: (lambda a: jnp.sin(a) / a)(jnp.linalg.norm(v)),
        (jnp.zeros(2),),
        "`jnp.sinc(x / jnp.pi)`",
    ),
    "slope of arccos by rounding": (
        jax.grad(lambda a: jnp.arccos(a @ jnp.array([0.8, 0.6000001]))),
        (jnp.array([0.8, 0.6000001]),),
        "jnp.clip(a @ jnp.array([0.8, 0.6000001]), -1 + 1e-6, 1 - 1e-6)",
    ),
    "log of 1 - a tail": (
        lambda x: jnp.log(1 - jax.scipy.stats.norm.cdf(x)),
        (50.0,),
        "`jax.scipy.stats.norm.logsf(x)`",
    ),
    "log of erfc": (
        lambda x: jnp.log(jax.scipy.special.erfc(x)),
        (50.0,),
        "`jnp.log(2.0) + jax.scipy.stats.norm.logcdf(-jnp.sqrt(2.0) * x)`",
    ),
    "arccos by rounding, gradient": (
        jax.grad(lambda c: jnp.arccos(c)),
        (1.0000001,),
        "jnp.clip(c, -1 + 1e-6, 1 - 1e-6)",
    ),
    "1 - c² by rounding, gradient": (jax.grad(lambda c: jnp.sqrt(1 - c * c)), (1.0000001,), "`jnp.maximum(x, 1e-12)`"),
    "log of 1 - c² by rounding": (lambda c: jnp.log(1 - c * c), (1.0000001,), "`jnp.maximum(x, 1e-12)`"),
    "cross entropy, gradient": (
        jax.value_and_grad(lambda p, y: -(y * jnp.log(p)).sum()),
        (jnp.eye(2)[0], jnp.eye(2)[0]),
        "keep the input of the logarithm above 0, as in `jnp.log(jnp.maximum(p, 1e-30))`",
    ),
    "exp underflows in float16": (
        standardized,
        (jnp.ones(1, "float16"), jnp.full(1, -30, "float16")),
        "clip(log_std, min=-5.0)",
    ),
}
SLOPES = {
    "norm": (lambda x: jnp.linalg.norm(x), jnp.zeros(3), "for a vector of length 0"),
    "squared norm": (lambda x: jnp.linalg.norm(x) ** 2, jnp.zeros(3), "sum the squares"),
    "std": (lambda x: x.std(), jnp.ones(3), "add a small number to the variance"),
    "sqrt": (root, jnp.array([1.0, 0.0]), "`jnp.sqrt(nu + 1e-12)`"),
    "root as a power": (lambda x: (x**0.5).sum(), jnp.array([1.0, 0.0]), "The slope of x ** 0.5 is infinite at 0"),
    "arccos": (angle, jnp.array([0.0, 1.0]), "jnp.arccos(jnp.clip(c, -1 + 1e-6, 1 - 1e-6))"),
    "arcsin": (lambda c: jnp.arcsin(c).sum(), jnp.array([0.0, -1.0]), "slope of `arcsin` is infinite"),
    "arctan2": (lambda v: jnp.arctan2(v[1], v[0]), jnp.zeros(2), "`arctan2` has no derivative at (0, 0)"),
    "eigenvectors": (lambda a: jnp.linalg.eigh(a)[1][0, 0], jnp.eye(2), "Two eigenvalues are equal"),
    "singular vectors": (lambda a: jnp.linalg.svd(a)[0][0, 0], jnp.eye(2), "Two singular values are equal"),
    "where": (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0).sum(), jnp.array([1.0, 0.0]), "jnp.where(ok, risky("),
    "where of exp": (
        lambda x: jnp.where(x < 50, jnp.exp(x), 0.0).sum(),
        jnp.array([1.0, 99.0]),
        "jnp.where(ok, risky(",
    ),
    "where of arccos": (
        lambda x: jnp.where(jnp.abs(x) < 1, jnp.arccos(x), 0.0).sum(),
        jnp.array([0.5, 1.0]),
        "jnp.where(ok, risky(jnp.where(ok, x, 0.0)), other)",
    ),
    "where of a unit vector": (
        lambda v: jnp.where(jnp.linalg.norm(v) > 0, v / jnp.linalg.norm(v), 0.0).sum(),
        jnp.zeros(3),
        "make the input of the root safe, as in `jnp.linalg.norm(jnp.where(ok, x, 1.0))`, and divide by that",
    ),
    "where of a function that divides": (
        lambda p: jnp.where(p < 1, jax.scipy.special.logit(p), 0.0).sum(),
        jnp.array([0.5, 1.0]),
        "Make the input of `jax.scipy.special.logit` safe before the call",
    ),
    "where of a power": (lambda x: jnp.where(x > 0, x**0.5, 0.0).sum(), jnp.array([1.0, 0.0]), "jnp.where(ok, risky("),
}


@pytest.mark.parametrize("kind", first_of(KINDS, 16))
def test_the_advice_fits_the_kind(kind):
    fn, args, advice = KINDS[kind]
    assert advice in says(fn, *args)


@pytest.mark.parametrize(
    "wrap", [lambda f: f, jax.grad, lambda f: jax.jit(jax.grad(jax.jit(f)))], ids=["f", "grad", "jit"]
)
@pytest.mark.parametrize("kind", first_of(SLOPES, 4))
def test_the_advice_fits_the_slope(kind, wrap):
    fn, x, advice = SLOPES[kind]
    assert not np.isfinite(jax.grad(fn)(x)).all()
    assert advice in says(wrap(fn), x)


@pytest.mark.parametrize("kind", first_of(["where", "sqrt", "norm", "arctan2"], 1))
def test_the_advice_holds_under_vmap_in_a_checkpoint_and_for_second_derivatives(kind):
    fn, x, advice = SLOPES[kind]
    assert advice in says(jax.vmap(jax.grad(fn)), jnp.stack([x + 1.0, x]))
    assert advice in says(jax.grad(jax.checkpoint(fn)), x)
    assert advice in says(jax.hessian(fn), x)


# Programs that look like one of the kinds: what must not be said.
LIKE = {
    "a sum of exponentials that divides nothing": (
        lambda x: jnp.exp(x).sum() / 3,
        (jnp.array([99.0]),),
        "largest value",
    ),
    "KL, not a softmax": (kl, (jnp.zeros(2), jnp.array([1.0, 99.0])), "Subtract the largest"),
    "an exponential that is not clipped alone": (softmax, (jnp.array([1.0, 1000.0]),), "jnp.clip"),
    "an overflow without growth": (overflows_at_once, (1.0,), "grew"),
    "weights that do not grow": (
        lambda w: jax.lax.scan(lambda w, _: (w - 0.1 * jax.grad(jnp.sum)(w), jnp.exp(w * 99)), w, None, length=9)[1],
        (jnp.array([1.0]),),
        "learning rate",
    ),
    "bfloat16, as wide as float32": (lambda x: x * x, (jnp.full(3, 1e30, "bfloat16"),), "Compute this in float32"),
    "a matrix that is not nearly definite": (jnp.linalg.cholesky, (jnp.array([[1.0, 2.0], [2.0, 1.0]]),), "1e-6"),
    "a negative difference that is not rounding": (lambda x: jnp.sqrt(x.mean() - 5), (jnp.ones(3),), "Rounding"),
    "a variance that is not one": (lambda x: jnp.sqrt(x.mean() - x.mean() ** 2), (jnp.full(3, 3.0),), "variance"),
    "arccos far outside": (jnp.arccos, (2.0,), "clip"),
    "rows of zeros and ones": (lambda x: x / x.sum(-1, keepdims=True), (jnp.array([[1.0, 1], [0, 0]]),), "mask"),
    "a divisor that is really 0": (lambda x: x / jnp.sum(x**2), (jnp.zeros(2),), "squares"),
    "0 / 0 that is not sinc": (lambda x, y: jnp.sin(x) / y, (0.0, 0.0), "sinc"),
    "a row with something left": (masked_scores, (TWO_ROWS[:1], jnp.ones((1, 2))), "throughout"),
    "log of what is not a softmax": (lambda x, y: jnp.log(x / y), (0.0, 2.0), "softmax"),
    "a factor of -inf that is no log of 0": (
        lambda x, w: (w * jax.nn.log_softmax(x)).sum(),
        (jnp.array([-jnp.inf, 0.5]), jnp.array([0.0, 1.0])),
        "xlogy",
    ),
    "log of 0 without a factor": (lambda p: jnp.log(p).sum(), (jnp.array([0.0, 1.0]),), "xlogy"),
    "an element that where takes": (lambda x: jnp.where(x >= 0, jnp.sqrt(x), 0.0).sum(), (jnp.zeros(2),), "risky("),
    "a power that the library selects": (jax.grad(lambda x: (x**0.3).sum()), (jnp.zeros(2),), "does not take"),
    "a cube of the length": (jax.grad(lambda x: jnp.linalg.norm(x) ** 3), (jnp.zeros(2),), "sum the squares"),
    "a where whose derivative selects": (
        jax.grad(lambda x: entropy(jax.nn.softmax(jnp.where(TWO_ROWS[0], x, -jnp.inf)))),
        (jnp.ones(2),),
        "selects the right branch",
    ),
    "different eigenvalues": (
        lambda a: jnp.linalg.eigh(a)[1].sum() + jnp.sqrt(a[0, 1]),
        (jnp.diag(jnp.array([1.0, 2.0])),),
        "equal",
    ),
    "a product that is 0, not a square": (lambda x: x / (2 * jnp.sin(x)), (0.0,), "squares"),
    "an overflow that where drops": (lambda x: jnp.where(x < 9, jnp.exp(x), 0.0), (jnp.array([99.0]),), "may be off"),
    "1 / 0, an infinity that is exact": (lambda x: 3 / jnp.sum(1 / x), (jnp.array([0.0, 1.0]),), "may be off"),
    "a large vector": (lambda x: jnp.std(x, ddof=1) / 0, (jnp.ones(3),), "ddof"),
    "a value of its own that is 0": (lambda a, x: jnp.log(a * x), (0.0, jnp.ones(3)), "shrank"),
    "a division that is written": (jax.jit(lambda x, y: jnp.divide(x, y)), (1.0, 0.0), "`jnp.divide` divides"),
    "the slope of a root, not a division": (jax.grad(lambda x: jnp.sqrt(x) / 3), (0.0,), "It divides by 0"),
    "a determinant that is not 0": (lambda a: jnp.log(jnp.linalg.det(a) - 1), (jnp.eye(2),), "slogdet"),
    "float16, nothing lost": (lambda v: 1 / (v + 1), (jnp.full(2, -1.0, "float16"),), "is 0 in float16"),
    "tiny vectors have a length": (lambda x: x / jnp.sqrt(x @ x), (jnp.full(2, 1e-20),), "no direction"),
    "a solver divides by 0": (
        lambda a: jax.scipy.sparse.linalg.cg(lambda v: a @ v, jnp.ones(2))[0],
        (jnp.zeros((2, 2)),),
        "beyond float32",
    ),
    "a function that calls another": (lambda x: jax.tree.map(jnp.log, x), (jnp.zeros(2),), "jax.tree.map"),
    "an invertible matrix": (lambda a: jnp.linalg.inv(a) / 0.0, (jnp.eye(2),), "singular"),
    "a function whose epsilon is not 0": (
        lambda x: jax.nn.standardize(x, epsilon=1e-5) / 0,
        (jnp.ones(3),),
        "epsilon",
    ),
    "a recurrence that adds nothing": (squares_itself, (2.0,), "implicit"),
    "an overflow that the log of 0 does not come from": (
        unrelated_overflow,
        (jnp.full(3, 300.0, "float16"),),
        "it became",
    ),
    "a counter beside an overflow": (
        lambda xs: jax.lax.scan(lambda t, x: (t + 1.0, jnp.exp(x + 0 * t)), 0.0, xs)[1],
        (jnp.linspace(0.0, 99.0, 60),),
        "grew",
    ),
    "a recurrence beside an overflow": (
        lambda xs: jax.lax.scan(lambda c, x: (c * 3.0, jnp.exp(x)), 1.0, xs)[1],
        (jnp.linspace(0.0, 99.0, 60),),
        "grew",
    ),
    "a rate of growth": (grows_at_a_rate, (1.0,), "learning rate"),
    "an erf that is 0": (lambda x: jnp.log(jax.scipy.special.erf(x)), (0.0,), "tail"),
    "a product with a factor 0": (lambda x: jnp.log(jnp.prod(x)), (jnp.array([0.0, 2.0]),), "sum the logarithms"),
    "1 - exp(0), which is 0": (lambda x: jnp.log(1 - jnp.exp(x)), (0.0,), "expm1"),
    "the root of a sum without squares": (jax.grad(lambda w: jnp.sqrt(jnp.sum(w))), (jnp.zeros(2),), "length 0"),
    "a mask that only a library selects by": (
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
    row = jnp.where(TWO_ROWS, 1.0, -1e9)
    assert np.isfinite(jax.nn.softmax(row, -1)).all()
    assert np.isfinite(jax.grad(lambda nu: jnp.sqrt(nu + 1e-12))(0.0))
    assert np.isfinite(jax.grad(lambda c: jnp.arccos(jnp.clip(c, -1 + 1e-6, 1 - 1e-6)))(1.0))
    direction = jax.grad(lambda v: jnp.arctan2(v[1], jnp.where((v[0] == 0) & (v[1] == 0), 1.0, v[0])))(jnp.zeros(2))
    assert np.isfinite(direction).all()
    x = jnp.array([1.0, 0.0])
    power = jax.grad(lambda x: jnp.where(x > 0, jnp.where(x > 0, x, 1.0) ** 0.5, 0.0).sum())(x)
    assert np.isfinite(power).all()
    assert np.isfinite(jnp.linalg.cholesky(jnp.array([[1.0, 1.0], [1.0, 0.999999]]) + 1e-6 * jnp.eye(2))).all()
    logs = 2 * (jnp.log(2.0) - 30.0 - jax.nn.softplus(-60.0))
    np.testing.assert_allclose(logs, np.log(1 - np.tanh(30.0 / 4) ** 2) * 4, rtol=0.1)


# What the advice above makes of a program: the value and the gradient must be finite.
CURED = {
    "entropy of a masked softmax": (
        lambda x: (lambda logp: -(jnp.exp(logp) * logp).sum())(jax.nn.log_softmax(jnp.where(TWO_ROWS[0], x, -1e9))),
        jnp.ones(2),
    ),
    "log of another tail": (jax.scipy.stats.norm.logsf, 50.0),
    "log of erfc": (lambda x: jnp.log(2.0) + jax.scipy.stats.norm.logcdf(-jnp.sqrt(2.0) * x), 50.0),
    "arccos by rounding": (lambda c: jnp.arccos(jnp.clip(c, -1 + 1e-6, 1 - 1e-6)), 1.0000001),
    "root of a rounded difference": (lambda c: jnp.sqrt(jnp.maximum(1 - c * c, 1e-12)), 1.0000001),
    "cross entropy": (lambda p: -(jnp.array([0.0, 1.0]) * jnp.log(jnp.maximum(p, 1e-30))).sum(), jnp.array([0.0, 1.0])),
    "exp underflows in float16": (lambda s: (1 / jnp.exp(jnp.clip(s, min=-5.0))).sum(), jnp.full(1, -30, "float16")),
    "where of arccos": (
        lambda x: jnp.where(abs(x) < 1, jnp.arccos(jnp.where(abs(x) < 1, x, 0.0)), 0.0).sum(),
        jnp.array([0.5, 1.0]),
    ),
    "where of arccosh": (
        lambda x: jnp.where(x > 1, jnp.arccosh(jnp.where(x > 1, x, 2.0)), 0.0).sum(),
        jnp.array([0.5, 3.0]),
    ),
    "where of a unit vector": (
        lambda v: jnp.where((v != 0).any(), v / jnp.linalg.norm(jnp.where((v != 0).any(), v, 1.0)), 0.0).sum(),
        jnp.zeros(3),
    ),
}


@pytest.mark.parametrize("kind", first_of(CURED, 2))
def test_the_advice_cures_the_value_and_the_gradient(kind):
    fn, x = CURED[kind]
    value, gradient = jax.value_and_grad(fn)(x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


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
    monkeypatch.setattr(nan_watch, "advice_may_raise", False)
    monkeypatch.setattr(nan_watch, "advice", lambda case: 1 / 0)
    assert find_nan(jnp.log, 0.0).first.advice == ""
