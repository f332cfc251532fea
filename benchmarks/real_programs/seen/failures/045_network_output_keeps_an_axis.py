# url: https://github.com/MilesCranmer/lagrangian_nns/issues/6
# wrong: The network returns a vector of length one, but grad wants a scalar Lagrangian; squeeze the output.

# %% fails
import jax
import jax.numpy as jnp

weights = {"w": jnp.ones((4, 8)) * 0.1, "v": jnp.ones((8, 1))}

def lagrangian(q, q_t):
    state = jnp.concatenate([q, q_t])
    return jnp.tanh(state @ weights["w"]) @ weights["v"]

def generalised_force(q, q_t):
    return jax.grad(lagrangian, 0)(q, q_t)

print(generalised_force(jnp.array([0.1, 0.2]), jnp.zeros(2)))

# %% works
import jax
import jax.numpy as jnp

weights = {"w": jnp.ones((4, 8)) * 0.1, "v": jnp.ones((8, 1))}

def lagrangian(q, q_t):
    state = jnp.concatenate([q, q_t])
    return jnp.squeeze(jnp.tanh(state @ weights["w"]) @ weights["v"], axis=-1)

def generalised_force(q, q_t):
    return jax.grad(lagrangian, 0)(q, q_t)

print(generalised_force(jnp.array([0.1, 0.2]), jnp.zeros(2)))
