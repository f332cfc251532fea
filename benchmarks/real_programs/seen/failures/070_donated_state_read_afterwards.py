# url: https://github.com/talmolab/track-mjx/issues/192
# wrong: The training state was donated to the step, so its buffers are gone; report the new state that the step returned.

# %% fails
import jax
import jax.numpy as jnp

def update(state, g):
    return jax.tree.map(lambda p: p - 0.1 * g, state)

update = jax.jit(update, donate_argnums=0)
training_state = {"policy": jnp.ones(4), "value": jnp.zeros(4)}
new_state = update(training_state, 2.0)
print(jax.tree.map(lambda x: x[0], training_state))

# %% works
import jax
import jax.numpy as jnp

def update(state, g):
    return jax.tree.map(lambda p: p - 0.1 * g, state)

update = jax.jit(update, donate_argnums=0)
training_state = {"policy": jnp.ones(4), "value": jnp.zeros(4)}
training_state = update(training_state, 2.0)
print(jax.tree.map(lambda x: x[0], training_state))
