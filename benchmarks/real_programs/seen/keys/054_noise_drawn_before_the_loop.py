# url: https://github.com/bayesflow-org/bayesflow/pull/408
# verdict: correct
# why: The noise of all steps is drawn at once with one key, and the loop only picks its rows.

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def program(key):
    noise = jax.random.normal(key, (20, 3))

    def body(i, path):
        return path.at[i + 1].set(0.9 * path[i] + 0.3 * noise[i])

    return lax.fori_loop(0, 20, body, jnp.zeros((21, 3)))
