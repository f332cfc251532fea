# url: https://github.com/jax-ml/jax/issues/7546
# wrong: tree_unflatten calls the constructor again with tracers, and the constructor's float() wants a number; keep the conversion out of __init__ (or build the object in tree_unflatten without it).

# %% fails
import jax
import jax.numpy as jnp

@jax.tree_util.register_pytree_node_class
class Gaussian:
    def __init__(self, loc, scale):
        self.loc = loc
        self.log_scale = float(jnp.log(scale))
    def tree_flatten(self):
        return (self.loc, jnp.exp(self.log_scale)), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

@jax.jit
def nll(q, x):
    return 0.5 * jnp.mean((x - q.loc) ** 2) / jnp.exp(2 * q.log_scale) + q.log_scale

print(nll(Gaussian(0.0, 2.0), jnp.arange(4.0)))

# %% works
import jax
import jax.numpy as jnp

@jax.tree_util.register_pytree_node_class
class Gaussian:
    def __init__(self, loc, scale):
        self.loc = loc
        self.log_scale = jnp.log(scale)
    def tree_flatten(self):
        return (self.loc, self.log_scale), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        new = object.__new__(cls)
        new.loc, new.log_scale = children
        return new

@jax.jit
def nll(q, x):
    return 0.5 * jnp.mean((x - q.loc) ** 2) / jnp.exp(2 * q.log_scale) + q.log_scale

print(nll(Gaussian(0.0, 2.0), jnp.arange(4.0)))
