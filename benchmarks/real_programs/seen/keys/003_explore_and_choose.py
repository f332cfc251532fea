# url: https://github.com/theovincent/i-DQN/issues/13
# verdict: reuse
# wrong: Whether to explore and which action to take are decided with the same key; exploring means a number below 0.5, hence the upper half of the actions is never tried.
# shows: bool((out[1][np.asarray(out[0])] < 4).all())
# mend: guess = jax.random.uniform(key) ==> key, sub = jax.random.split(key); guess = jax.random.uniform(sub)
# mend: explore = jax.random.uniform(key) < 0.5  # first ==> key, sub = jax.random.split(key); explore = jax.random.uniform(sub) < 0.5

# %% program
import jax
import jax.numpy as jnp


def act(key, q):
    explore = jax.random.uniform(key) < 0.5  # first
    guess = jax.random.uniform(key)  # second
    action = jnp.where(explore, jnp.floor(8 * guess).astype(int), jnp.argmax(q))
    return explore, action


def program(key):
    return jax.vmap(act, in_axes=(0, None))(jax.random.split(key, 200), jnp.arange(8.0))
