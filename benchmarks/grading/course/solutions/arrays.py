# %%
import jax
import jax.numpy as jnp

from jaxguide.course.author import answer, expect_close, hidden, wrong


# %% standardize
@answer
def standardize(x):
    deviation = x.std(axis=0)
    return jnp.where(deviation > 0, (x - x.mean(axis=0)) / jnp.where(deviation > 0, deviation, 1), 0)


@wrong(
    rejected_by="columns_have_mean_zero",
    says="The rows are standardized instead of the columns.",
    misses_the_point=True,
)
def standardizes_rows(x):
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


@wrong(rejected_by="constant_columns_become_zero", says="A constant column is divided by its deviation, which is 0.")
def divides_by_zero(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


@hidden(idea="0 / 0 is NaN: a deviation of 0 needs a case of its own.", on="a constant column")
def constant_columns_become_zero(answer, draw, reference):
    """A constant column becomes 0."""
    x = draw.floats(5, 3).at[:, 1].set(2.0)
    expect_close(answer(x), reference(x), rtol=1e-4, atol=1e-5)


# %% stable_softmax
@answer
def stable_softmax(scores):
    powers = jnp.exp(scores - scores.max())
    return powers / powers.sum()


@wrong(
    rejected_by="softmax_sums_to_one",
    says="The powers are divided by the largest, not by their sum.",
    misses_the_point=True,
)
def divides_by_the_largest(scores):
    powers = jnp.exp(scores - scores.max())
    return powers / powers.max()


@wrong(rejected_by="large_scores_stay_finite", says="exp of a large score is infinite.")
def overflows(scores):
    return jnp.exp(scores) / jnp.exp(scores).sum()


@hidden(idea="Subtracting a constant from all scores changes no probability.", on="large scores")
def large_scores_stay_finite(answer, draw, reference):
    """Large scores give finite probabilities."""
    scores = 500 + draw.floats(6)
    expect_close(answer(scores), reference(scores), rtol=1e-4, atol=1e-5)


# %% loss_gradient
@answer
def loss_gradient(w, x, y):
    return jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w)


@wrong(
    rejected_by="gradient_is_that_of_the_mean",
    says="The gradient is that of the sum, not of the mean.",
    misses_the_point=True,
)
def differentiates_the_sum(w, x, y):
    return jax.grad(lambda w: ((x @ w - y) ** 2).sum())(w)


@wrong(rejected_by="other_sizes_work", says="The number of examples is written into the code.")
def knows_the_size(w, x, y):
    return 2 * x.T @ (x @ w - y) / 4


@hidden(idea="The mean is over as many examples as there are.", on="another number of examples")
def other_sizes_work(answer, draw, reference):
    """Other numbers of examples work."""
    w, x, y = draw.floats(2), draw.floats(7, 2), draw.floats(7)
    expect_close(answer(w, x, y), reference(w, x, y), rtol=1e-4, atol=1e-5)


# %% distances
@answer
def distances(a, b):
    def between(u, v):
        return jnp.sqrt(((u - v) ** 2).sum())

    return jax.vmap(lambda u: jax.vmap(lambda v: between(u, v))(b))(a)


@wrong(
    rejected_by="every_pair_is_there",
    says="The root is missing: these are squares of distances.",
    misses_the_point=True,
)
def squares_only(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(-1)


@wrong(rejected_by="more_columns_work", says="Only two columns are looked at.")
def two_columns_only(a, b):
    return jnp.sqrt((a[:, None, 0] - b[None, :, 0]) ** 2 + (a[:, None, 1] - b[None, :, 1]) ** 2)


@hidden(idea="The sum runs over all columns.", on="rows of another length")
def more_columns_work(answer, draw, reference):
    """Rows of any length work."""
    a, b = draw.floats(2, 5), draw.floats(3, 5)
    expect_close(answer(a, b), reference(a, b), rtol=1e-4, atol=1e-5)


# %% smooth
@answer
def smooth(values, decay):
    def step(last, value):
        new = decay * last + (1 - decay) * value
        return new, new

    return jax.lax.scan(step, values[0], values)[1]


@wrong(
    rejected_by="each_step_mixes_old_and_new",
    says="The old and the new value have each other's weights.",
    misses_the_point=True,
)
def swaps_the_weights(values, decay):
    def step(last, value):
        new = (1 - decay) * last + decay * value
        return new, new

    return jax.lax.scan(step, values[0], values)[1]


@wrong(rejected_by="other_decays_work", says="The decay is written into the code.")
def knows_the_decay(values, decay):
    def step(last, value):
        new = 0.75 * last + 0.25 * value
        return new, new

    return jax.lax.scan(step, values[0], values)[1]


@hidden(idea="An argument is there to be used.", on="another decay and more values")
def other_decays_work(answer, draw, reference):
    """Another decay and more values work."""
    values, decay = draw.floats(9), jnp.float32(0.25)
    expect_close(answer(values, decay), reference(values, decay), rtol=1e-4, atol=1e-5)
