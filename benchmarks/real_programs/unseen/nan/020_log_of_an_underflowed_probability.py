# url: https://github.com/google-deepmind/optax/issues/896
# wrong: The probability of an unlikely class underflows to 0, its logarithm is -inf and the label's 0 times -inf is NaN.
# advice: Use log_softmax on the logits instead of log of softmax.

# %% fails
import jax
import jax.numpy as jnp


def f(logits, labels):
    log_p = jnp.log(jax.nn.softmax(logits))  # guilty
    return -jnp.sum(labels * log_p)


args = (jnp.array([200.0, 0.0, 1.0]), jnp.array([1.0, 0.0, 0.0]))

# %% works
import jax
import jax.numpy as jnp


def f(logits, labels):
    log_p = jax.nn.log_softmax(logits)
    return -jnp.sum(labels * log_p)


args = (jnp.array([200.0, 0.0, 1.0]), jnp.array([1.0, 0.0, 0.0]))
