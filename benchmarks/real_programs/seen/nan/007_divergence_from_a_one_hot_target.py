# url: https://github.com/google-deepmind/optax/pull/473
# wrong: The target has exact zeros; its log is -inf there and 0 times -inf is NaN, where the divergence should count 0.
# advice: Use xlogy or where so that entries with target 0 contribute 0.

# %% fails
import jax
import jax.numpy as jnp


def kl(log_q, p):
    terms = p * (jnp.log(p) - log_q)  # guilty
    return terms.sum(-1)


def batch_loss(logits, targets):
    log_q = jax.nn.log_softmax(logits)
    return jax.lax.map(lambda a: kl(*a), (log_q, targets)).mean()


f = jax.jit(batch_loss)
args = (jnp.array([[0.1, 0.4], [2.0, 1.0]]), jnp.array([[0.5, 0.5], [0.0, 1.0]]))

# %% works
import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy


def kl(log_q, p):
    return (xlogy(p, p) - p * log_q).sum(-1)


def batch_loss(logits, targets):
    log_q = jax.nn.log_softmax(logits)
    return jax.lax.map(lambda a: kl(*a), (log_q, targets)).mean()


f = jax.jit(batch_loss)
args = (jnp.array([[0.1, 0.4], [2.0, 1.0]]), jnp.array([[0.5, 0.5], [0.0, 1.0]]))
