# url: https://github.com/google-research/computation-thru-dynamics/issues/4
# wrong: Inputs and read-out states come in batches of different sizes, 6 against 4, and the batched product wants them equal; use the same batch size for both.

# %% fails
import jax.numpy as jnp

def read_out(states, weights):
    return jnp.einsum("bth,bho->bto", states, weights)

states = jnp.ones((6, 10, 5))
weights = jnp.ones((4, 5, 2))
print(read_out(states, weights).shape)

# %% works
import jax.numpy as jnp

def read_out(states, weights):
    return jnp.einsum("bth,bho->bto", states, weights)

states = jnp.ones((6, 10, 5))
weights = jnp.ones((6, 5, 2))
print(read_out(states, weights).shape)
