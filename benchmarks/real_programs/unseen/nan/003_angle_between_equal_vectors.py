# url: https://github.com/jax-ml/jax/issues/15798
# wrong: The two distributions are equal, so the cosine is 1, where arccos has an infinite derivative.
# advice: Use the chord (2*arcsin of half the distance with a guarded norm) or clip the cosine slightly inside of (-1, 1).

# %% fails
import jax
import jax.numpy as jnp


def bhattacharyya(q, p):
    cosine = jnp.vdot(jnp.sqrt(q), jnp.sqrt(p))
    return jnp.arccos(cosine)  # guilty


f = jax.grad(bhattacharyya)
args = (jnp.array([0.25, 0.75]), jnp.array([0.25, 0.75]))

# %% works
import jax
import jax.numpy as jnp


def bhattacharyya(q, p):
    cosine = jnp.vdot(jnp.sqrt(q), jnp.sqrt(p))
    return jnp.arccos(jnp.clip(cosine, -1 + 1e-6, 1 - 1e-6))


f = jax.grad(bhattacharyya)
args = (jnp.array([0.25, 0.75]), jnp.array([0.25, 0.75]))
