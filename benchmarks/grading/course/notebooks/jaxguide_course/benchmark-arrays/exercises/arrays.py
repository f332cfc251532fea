# %% [markdown]
# # Five functions of arrays
#
# The assignment that benchmarks grade: five exercises, each with a visible and a hidden check.

# %%
import jax
import jax.numpy as jnp

# %% check
from jaxguide.course.author import exercise, expect_close, visible


# %% exercise
@exercise(
    title="Columns of mean 0",
    points=2,
    hints=[
        "Which axis runs down a column?",
        "Statistics along an axis: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.std.html",
        "(x - x.mean(axis=____)) / x.std(axis=____)",
    ],
)
def standardize(x):
    """Scale each column to mean 0 and deviation 1, a constant column to 0: float32[n,m] -> float32[n,m]."""
    ...


# %% check
@visible(standardize, idea="Statistics of a column run over axis 0.")
def columns_have_mean_zero(answer, draw):
    """Every column has mean 0 and deviation 1."""
    x = draw.floats(6, 3)
    expect_close(answer(x), (x - x.mean(0)) / x.std(0))


# %% exercise
@exercise(
    title="Softmax of large scores",
    points=2,
    hints=[
        "What is exp(500) in float32?",
        "A shift that changes nothing: https://docs.jax.dev/en/latest/_autosummary/jax.nn.softmax.html",
        "jnp.exp(scores - ____)",
    ],
)
def stable_softmax(scores):
    """Turn scores into probabilities: float32[n] -> float32[n]."""
    ...


# %% check
@visible(stable_softmax, idea="Softmax is exp, divided by its sum.")
def softmax_sums_to_one(answer, draw):
    """The probabilities are those of softmax."""
    scores = draw.floats(5)
    expect_close(answer(scores), jax.nn.softmax(scores))


# %% exercise
@exercise(
    title="Gradient of a loss",
    points=2,
    hints=[
        "What is the loss, as a function of w alone?",
        "Derivatives of functions: https://docs.jax.dev/en/latest/_autosummary/jax.grad.html",
        "jax.grad(lambda w: ____)(w)",
    ],
)
def loss_gradient(w, x, y):
    """Differentiate the mean of (x @ w - y)**2 by w: float32[m], float32[n,m], float32[n] -> float32[m]."""
    ...


# %% check
@visible(loss_gradient, idea="The derivative of a mean of squares is a mean.")
def gradient_is_that_of_the_mean(answer, draw):
    """The gradient is that of the mean."""
    w, x, y = draw.floats(3), draw.floats(4, 3), draw.floats(4)
    expect_close(answer(w, x, y), 2 * x.T @ (x @ w - y) / 4, rtol=1e-4, atol=1e-5)


# %% exercise
@exercise(
    title="All distances",
    points=2,
    hints=[
        "How do you compute one distance?",
        "One mapped axis at a time: https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html",
        "jax.vmap(lambda u: jax.vmap(lambda v: ____)(b))(a)",
    ],
)
def distances(a, b):
    """Compute the distance of each row of a to each row of b: float32[n,k], float32[m,k] -> float32[n,m]."""
    ...


# %% check
@visible(distances, idea="Two batches need two mapped axes.")
def every_pair_is_there(answer, draw):
    """Entry i, j is the distance of row i of a and row j of b."""
    a, b = draw.floats(3, 2), draw.floats(4, 2)
    expect_close(answer(a, b), jnp.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)), rtol=1e-4, atol=1e-5)


# %% exercise
@exercise(
    title="Exponential smoothing",
    points=2,
    hints=[
        "What does one step need of the one before?",
        "A loop with a carry: https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "jax.lax.scan(step, ____, values)[1]",
    ],
)
def smooth(values, decay):
    """Mix each value with the result before it, weighted 1 - decay and decay: float32[n], float32[] -> float32[n]."""
    ...


# %% check
@visible(smooth, idea="The carry of a scan is what one step hands to the next.")
def each_step_mixes_old_and_new(answer, draw):
    """Each value mixes the one before and the new one."""
    values, decay = draw.floats(4), jnp.float32(0.75)
    expected = [values[0]]
    for value in values[1:]:
        expected.append(decay * expected[-1] + (1 - decay) * value)
    expect_close(answer(values, decay), jnp.stack(expected), rtol=1e-4, atol=1e-5)
