# url: https://github.com/google/brax/issues/167
# verdict: reuse
# wrong: When an episode ends the wrapper resets with the key it stored at the very first reset, so every episode starts in the same place.
# shows: len(set(np.asarray(out)[1::4].tolist())) == 1
# mend: moved = dict(state, x= ==> key, sub = jax.random.split(state["key"]); moved = dict(state, key=key, x=
# mend: new = reset(state["key"]) ==> new = dict(reset(sub), key=key)
# mend: first = dict(reset(key), t=jnp.array(2)) ==> key, sub = jax.random.split(key); first = dict(reset(sub), t=jnp.array(2), key=key)

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def reset(key):
    return {"x": jax.random.uniform(key), "t": jnp.array(0), "key": key}  # first # second


def step(state, _):
    moved = dict(state, x=state["x"] + 0.1, t=state["t"] + 1)
    new = reset(state["key"])
    done = moved["t"] == 4
    state = jax.tree.map(lambda a, b: jnp.where(done, a, b), new, moved)
    return state, state["x"]


def program(key):
    first = dict(reset(key), t=jnp.array(2))
    return lax.scan(step, first, None, length=16)[1]
