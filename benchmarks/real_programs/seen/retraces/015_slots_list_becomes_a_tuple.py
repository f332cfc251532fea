# url: https://github.com/google/trax/issues/1061
# cause: tree_init makes a list of slots and the update returns a tuple of them, which is another tree structure.

# %% program
import jax
import jax.numpy as jnp


def tree_init(weights):
    return [jnp.zeros_like(w) for w in weights]


@jax.jit
def step(weights, slots):
    slots = tuple(0.9 * s + w for s, w in zip(slots, weights))
    return tuple(w - 0.1 * s for w, s in zip(weights, slots)), slots


weights = (jnp.ones(2), jnp.ones(3))
state = {"slots": tree_init(weights)}


def turn():
    state["slots"] = step(weights, state["slots"])[1]


calls = [turn, turn, turn]
