# url: https://github.com/jax-ml/jax/pull/16606
# verdict: correct
# why: The same key is folded with the user's number in both calls, but the numbers are disjoint.

# %% program
import jax
import jax.numpy as jnp


def features(key, ids):
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, ids)
    return jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)


def program(key):
    known = features(key, jnp.array([3, 1, 4]))
    fresh = features(key, jnp.array([15, 9, 2, 6]))
    return known, fresh
