# url: https://github.com/jax-ml/jax/issues/790
# wrong: The body appends the new season to the buffer without dropping the oldest, so the carry would grow from 4 to 5 entries; a scan carry keeps its shape.

# %% fails
import jax
import jax.numpy as jnp

def seasonal_level(series, seasons):
    def step(carry, y):
        level, buffer = carry
        level = 0.3 * (y - buffer[0]) + 0.7 * level
        buffer = jnp.concatenate([buffer, (y - level)[None]])
        return (level, buffer), level
    _, levels = jax.lax.scan(step, (series[0], seasons), series)
    return levels

print(seasonal_level(jnp.arange(8.0), jnp.zeros(4)))

# %% works
import jax
import jax.numpy as jnp

def seasonal_level(series, seasons):
    def step(carry, y):
        level, buffer = carry
        level = 0.3 * (y - buffer[0]) + 0.7 * level
        buffer = jnp.concatenate([buffer[1:], (y - level)[None]])
        return (level, buffer), level
    _, levels = jax.lax.scan(step, (series[0], seasons), series)
    return levels

print(seasonal_level(jnp.arange(8.0), jnp.zeros(4)))
