# url: https://github.com/tue-bmd/zea/pull/402
# verdict: correct
# why: The batch's key is captured by the mapped function, but the item's number is folded in before the draw.

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def program(seed):
    images = jnp.ones((5, 4, 4))

    def erase(args):
        index, image = args
        row = jax.random.randint(jax.random.fold_in(seed, index), (), 0, 4)
        return row, image.at[row].set(0.0)

    return lax.map(erase, (jnp.arange(5), images))
