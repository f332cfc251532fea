# url: https://github.com/jax-ml/jax/issues/25507
# wrong: The loop body returns a dict with the key "T" where the state came in with "t"; the carry must keep exactly the same keys.

# %% fails
import jax
import jax.numpy as jnp

def heat_step(_, state):
    lap = jnp.roll(state["t"], 1) + jnp.roll(state["t"], -1) - 2 * state["t"]
    return {"T": state["t"] + 0.1 * lap}

start = {"t": jnp.array([0.0, 1.0, 0.0, 0.0])}
print(jax.lax.fori_loop(0, 10, heat_step, start))

# %% works
import jax
import jax.numpy as jnp

def heat_step(_, state):
    lap = jnp.roll(state["t"], 1) + jnp.roll(state["t"], -1) - 2 * state["t"]
    return {"t": state["t"] + 0.1 * lap}

start = {"t": jnp.array([0.0, 1.0, 0.0, 0.0])}
print(jax.lax.fori_loop(0, 10, heat_step, start))
