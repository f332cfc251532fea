# url: https://github.com/jax-ml/jax/issues/16208
# wrong: Forbidden actions get the logit -inf, so their log-probability is -inf and their probability 0; the entropy's product of the two is NaN.
# advice: Use a large negative finite logit, or let where drop the forbidden terms before the product.

# %% fails
import jax
import jax.numpy as jnp


def policy(logits, legal):
    return jax.nn.log_softmax(jnp.where(legal, logits, -jnp.inf))


def entropy(logp):
    return -jnp.sum(jnp.exp(logp) * logp, axis=-1)  # guilty


def loss(w, obs, legal):
    logp = policy(obs @ w, legal)
    return logp[:, 0].mean() + 0.01 * entropy(logp).mean()


f = loss
args = (jnp.eye(3), jnp.ones((2, 3)), jnp.array([[True, True, True], [True, False, True]]))

# %% works
import jax
import jax.numpy as jnp


def policy(logits, legal):
    return jax.nn.log_softmax(jnp.where(legal, logits, -1e9))


def entropy(logp):
    return -jnp.sum(jnp.exp(logp) * logp, axis=-1)


def loss(w, obs, legal):
    logp = policy(obs @ w, legal)
    return logp[:, 0].mean() + 0.01 * entropy(logp).mean()


f = loss
args = (jnp.eye(3), jnp.ones((2, 3)), jnp.array([[True, True, True], [True, False, True]]))
