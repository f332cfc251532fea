# url: https://github.com/jax-ml/jax/pull/369
# verdict: correct
# why: One root key is folded again and again, but with the epoch first and the batch number on top, so that no pair occurs twice.

# %% program
import jax
import jax.numpy as jnp
from jax import lax


@jax.jit
def run_epoch(key, epoch, params):
    epoch_key = jax.random.fold_in(key, epoch)

    def body(i, params):
        eps = jax.random.normal(jax.random.fold_in(epoch_key, i), params.shape)
        return 0.9 * params + 0.1 * eps

    return lax.fori_loop(0, 5, body, params)


def program(key):
    params, seen = jnp.zeros(3), []
    for epoch in range(3):
        params = run_epoch(key, epoch, params)
        seen.append(params)
    return seen
