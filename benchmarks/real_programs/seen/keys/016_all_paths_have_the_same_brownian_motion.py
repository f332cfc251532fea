# url: https://github.com/patrick-kidger/diffrax/issues/531
# verdict: reuse
# wrong: solve is mapped over the starting points but its Brownian motion is built from the one captured key, hence the paths differ by a constant only.
# shows: np.allclose(out - out[:, :1], (out - out[:, :1])[0], atol=1e-5)
# mend: jax.vmap(lambda y: solve(y, key))(starts) ==> jax.vmap(solve)(starts, jax.random.split(key, 5))

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def solve(y0, key, dt=0.01):
    def euler(y, k):
        y = y + jnp.sqrt(dt) * jax.random.normal(k)  # first # second
        return y, y

    return lax.scan(euler, y0, jax.random.split(key, 50))[1]


def program(key):
    starts = jnp.linspace(-1.0, 1.0, 5)
    return jax.vmap(lambda y: solve(y, key))(starts)
