# url: https://github.com/jax-ml/jax/pull/19520
# verdict: correct
# why: The loop's body closes over the key but folds the counter into it before it draws.

# %% program
import jax
import jax.numpy as jnp


def program(key):
    def body(i, path):
        shock = jax.random.normal(jax.random.fold_in(key, i), (2,))
        return path.at[i + 1].set(path[i] + shock)

    return jax.lax.fori_loop(0, 6, body, jnp.zeros((7, 2)))
