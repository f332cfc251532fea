# url: https://github.com/blackjax-devs/blackjax/pull/656
# verdict: reuse
# wrong: Momentum and acceptance use fold_in of the same key with the same step number, so both are drawn with one key.
# shows: np.array_equal(np.argsort(out[0]), np.argsort(out[1]))
# mend: jax.random.fold_in(key, step)  # second ==> jax.random.fold_in(jax.random.fold_in(key, step), 77)
# mend: jax.random.fold_in(key, step)  # first ==> jax.random.fold_in(jax.random.fold_in(key, step), 78)

# %% program
import jax
import jax.numpy as jnp


def program(key):
    momenta, levels = [], []
    for step in range(9):
        k_momentum = jax.random.fold_in(key, step)  # first
        momenta.append(jax.random.normal(k_momentum))
        k_accept = jax.random.fold_in(key, step)  # second
        levels.append(jax.random.uniform(k_accept))
    return jnp.stack(momenta), jnp.stack(levels)
