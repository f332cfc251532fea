# url: https://github.com/jax-ml/jax/issues/17070
# wrong: Masked classes have probability 0 and p*log(p) gives 0*-inf there; the where of the sum hides the value but not the gradient.
# advice: Use jax.scipy.special.entr or xlogy, or set p to 1 under the mask before the logarithm.

# %% fails
import jax
import jax.numpy as jnp


def entropy(logits):
    mask = jnp.array([True, True, False])
    p = jax.nn.softmax(jnp.where(mask, logits, -jnp.inf))
    surprise = -jnp.log2(p)  # guilty
    return jnp.sum(p * surprise, where=mask)


f = jax.grad(entropy)
args = (jnp.array([0.1, 0.2, 0.3]),)

# %% works
import jax
import jax.numpy as jnp


def entropy(logits):
    mask = jnp.array([True, True, False])
    p = jax.nn.softmax(jnp.where(mask, logits, -jnp.inf))
    surprise = -jnp.log2(jnp.where(mask, p, 1.0))
    return jnp.sum(p * surprise, where=mask)


f = jax.grad(entropy)
args = (jnp.array([0.1, 0.2, 0.3]),)
