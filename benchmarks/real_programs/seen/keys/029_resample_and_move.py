# url: https://github.com/blackjax-devs/blackjax/pull/526
# verdict: reuse
# wrong: The offset of the systematic resampling and the noise of the move afterwards come from one key, so the first particle's move tells the offset.
# shows: bool(abs(jax.scipy.stats.norm.cdf(out[1][0]) - out[0]) < 1e-3)
# mend: offset = jax.random.uniform(key) ==> key, sub = jax.random.split(key); offset = jax.random.uniform(sub)

# %% program
import jax
import jax.numpy as jnp


def smc_step(key, particles, weights):
    n = particles.shape[0]
    offset = jax.random.uniform(key)  # first
    index = jnp.searchsorted(jnp.cumsum(weights), (jnp.arange(n) + offset) / n)
    move = jax.random.normal(key, (n,))  # second
    return offset, move, particles[index] + 0.3 * move


def program(key):
    return smc_step(key, jnp.linspace(-1.0, 1.0, 10), jnp.full(10, 0.1))
