# url: https://github.com/blackjax-devs/blackjax/issues/267
# wrong: scan walks its inputs in step, but the schedule is one entry shorter than the keys; give both the same leading size.

# %% fails
import jax
import jax.numpy as jnp

def warmup(state, inputs):
    key, step_size = inputs
    return state + step_size * jax.random.normal(key), state

keys = jax.random.split(jax.random.key(1), 19)
schedule = jnp.linspace(1.0, 0.1, 18)
print(jax.lax.scan(warmup, 0.0, (keys, schedule))[0])

# %% works
import jax
import jax.numpy as jnp

def warmup(state, inputs):
    key, step_size = inputs
    return state + step_size * jax.random.normal(key), state

keys = jax.random.split(jax.random.key(1), 19)
schedule = jnp.linspace(1.0, 0.1, 19)
print(jax.lax.scan(warmup, 0.0, (keys, schedule))[0])
