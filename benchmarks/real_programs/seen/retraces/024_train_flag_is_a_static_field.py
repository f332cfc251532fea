# url: https://github.com/google/flax/pull/3864
# cause: The flag for training is a static field of the module and evaluation flips it, so the tree structure of the argument changes.
# needs: flax

# %% program
import flax.struct
import jax
import jax.numpy as jnp


@flax.struct.dataclass
class Net:
    w: jax.Array
    train: bool = flax.struct.field(pytree_node=False, default=True)


@jax.jit
def step(net, x):
    y = x @ net.w
    return 0.5 * y if net.train else y


net, x = Net(jnp.ones((3, 2))), jnp.ones(3)
calls = [(net, x), (net.replace(train=False), x), (net, x)]
