# url: https://github.com/jax-ml/jax/issues/17117
# wrong: The maximum is taken over the allowed logits only, so the large masked logit overflows in exp; the mask removes the inf from the value but not from the gradient.
# advice: Put a small number in place of the masked logits before exp, not only after it.

# %% fails
import jax
import jax.numpy as jnp


def masked_softmax(x, mask):
    top = jnp.max(x, where=mask, initial=-1e9)
    weights = jnp.exp(x - top)  # guilty
    weights = jnp.where(mask, weights, 0.0)
    return weights / weights.sum()


def score(x, mask):
    return jax.vmap(masked_softmax)(x, mask)[:, 0].sum()


f = jax.grad(score)
args = (
    jnp.array([[0.1, 0.2, 0.3], [1.0, 1.0, 100.0]]),
    jnp.array([[True, True, True], [True, True, False]]),
)

# %% works
import jax
import jax.numpy as jnp


def masked_softmax(x, mask):
    top = jnp.max(x, where=mask, initial=-1e9)
    weights = jnp.exp(jnp.where(mask, x - top, -30.0))
    weights = jnp.where(mask, weights, 0.0)
    return weights / weights.sum()


def score(x, mask):
    return jax.vmap(masked_softmax)(x, mask)[:, 0].sum()


f = jax.grad(score)
args = (
    jnp.array([[0.1, 0.2, 0.3], [1.0, 1.0, 100.0]]),
    jnp.array([[True, True, True], [True, True, False]]),
)
