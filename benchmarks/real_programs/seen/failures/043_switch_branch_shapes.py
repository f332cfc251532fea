# url: https://github.com/jax-ml/jax/issues/25140
# wrong: The three policies return actions of different shapes, and all branches of lax.switch must return the same; pad the actions to one width.

# %% fails
import jax
import jax.numpy as jnp

policies = [
    lambda obs: jnp.zeros(2),
    lambda obs: obs[:2],
    lambda obs: obs[:1],
]

@jax.jit
def act(which, obs):
    return jax.lax.switch(which, policies, obs)

print(act(1, jnp.array([0.1, 0.2, 0.3])))

# %% works
import jax
import jax.numpy as jnp

policies = [
    lambda obs: jnp.zeros(2),
    lambda obs: obs[:2],
    lambda obs: jnp.pad(obs[:1], (0, 1)),
]

@jax.jit
def act(which, obs):
    return jax.lax.switch(which, policies, obs)

print(act(1, jnp.array([0.1, 0.2, 0.3])))
