# url: https://github.com/jax-ml/jax/issues/18548
# wrong: in_axes that is no integer has one entry per argument, so the dict for the single argument must stand in a tuple: in_axes=({...},).

# %% fails
import jax
import jax.numpy as jnp

def distance(obs):
    return jnp.linalg.norm(obs["position"] - obs["goal"])

obs = {"position": jnp.ones((5, 3)), "goal": jnp.zeros(3)}
print(jax.vmap(distance, in_axes={"position": 0, "goal": None})(obs))

# %% works
import jax
import jax.numpy as jnp

def distance(obs):
    return jnp.linalg.norm(obs["position"] - obs["goal"])

obs = {"position": jnp.ones((5, 3)), "goal": jnp.zeros(3)}
print(jax.vmap(distance, in_axes=({"position": 0, "goal": None},))(obs))
