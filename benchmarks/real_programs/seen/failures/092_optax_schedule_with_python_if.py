# url: https://github.com/netket/netket/issues/908
# wrong: The schedule is called with a traced step count when the update is jitted, so its `if` cannot be decided; write it with jnp.where or optax.piecewise_constant_schedule.

# %% fails
import jax
import jax.numpy as jnp
import optax

def schedule(step):
    if step < 100:
        return 0.1
    return 0.01

tx = optax.sgd(schedule)
params = jnp.ones(3)
state = tx.init(params)
updates, state = jax.jit(tx.update)(params, state)
print(updates)

# %% works
import jax
import jax.numpy as jnp
import optax

def schedule(step):
    return jnp.where(step < 100, 0.1, 0.01)

tx = optax.sgd(schedule)
params = jnp.ones(3)
state = tx.init(params)
updates, state = jax.jit(tx.update)(params, state)
print(updates)
