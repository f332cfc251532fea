# url: https://github.com/jax-ml/jax/issues/8605
# wrong: The body unpacks the carry into level and trend, but the initial carry is a single number; start with a pair.

# %% fails
import jax
import jax.numpy as jnp

def holt(series, alpha, beta):
    def step(carry, x):
        level, trend = carry
        error = x - level - trend
        return (level + trend + alpha * error, trend + beta * error), error
    return jax.lax.scan(step, series[0], series)

print(holt(jnp.array([4.0, 5.0, 7.0, 8.0]), 0.3, 0.1)[1])

# %% works
import jax
import jax.numpy as jnp

def holt(series, alpha, beta):
    def step(carry, x):
        level, trend = carry
        error = x - level - trend
        return (level + trend + alpha * error, trend + beta * error), error
    return jax.lax.scan(step, (series[0], 0.0), series)

print(holt(jnp.array([4.0, 5.0, 7.0, 8.0]), 0.3, 0.1)[1])
