# url: https://github.com/patrick-kidger/equinox/issues/686
# cause: Each model jits the kinematics function anew in its constructor and keeps it as a static field, so two models with the same function have unequal tree structures.

# %% program
import jax
import jax.numpy as jnp


def kinematics(angles):
    return jnp.stack([jnp.cos(angles).sum(), jnp.sin(angles).sum()])


@jax.tree_util.register_pytree_node_class
class Trajectory:
    def __init__(self, weights, forward=None):
        self.weights = weights
        self.forward = jax.jit(lambda a: kinematics(a)) if forward is None else forward

    def tree_flatten(self):
        return (self.weights,), self.forward

    @classmethod
    def tree_unflatten(cls, forward, children):
        return cls(*children, forward)


@jax.jit
def step(model, target):
    return jnp.sum((model.forward(model.weights) - target) ** 2)


calls = [(Trajectory(jnp.ones(3)), jnp.zeros(2)), (Trajectory(jnp.ones(3)), jnp.zeros(2))]
