# url: https://github.com/jax-ml/jax/issues/40409
# wrong: The normaliser sums 70000 terms near 1 in float16, whose largest number is 65504, so the sum is inf and with it the log.
# advice: Do the log-sum-exp in float32 and convert the result back.

# %% fails
import jax
import jax.numpy as jnp


def log_probs(logits):
    shifted = logits - jax.lax.stop_gradient(logits.max())
    total = jnp.sum(jnp.exp(shifted))  # guilty
    return shifted - jnp.log(total)


def token_loss(logits, token):
    return -log_probs(logits)[token]


f = token_loss
args = (jnp.zeros(70000, jnp.float16), jnp.array(17))

# %% works
import jax
import jax.numpy as jnp


def log_probs(logits):
    shifted = logits.astype(jnp.float32) - jax.lax.stop_gradient(logits.max())
    total = jnp.sum(jnp.exp(shifted))
    return (shifted - jnp.log(total)).astype(logits.dtype)


def token_loss(logits, token):
    return -log_probs(logits)[token]


f = token_loss
args = (jnp.zeros(70000, jnp.float16), jnp.array(17))
