# url: https://github.com/jax-ml/jax/issues/1984
# cause: The step number is kept in the auxiliary data of the custom node, so each step has another tree structure.

# %% program
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class State:
    def __init__(self, params, n):
        self.params, self.n = params, n

    def tree_flatten(self):
        return (self.params,), self.n

    @classmethod
    def tree_unflatten(cls, n, children):
        return cls(*children, n)


@jax.jit
def step(state):
    return State(state.params * 0.5, state.n + 1)


calls = [(State(jnp.ones(3), 0),), (State(jnp.ones(3), 1),)]
