# url: https://github.com/allen-adastra/xarray_jax/issues/11
# cause: The variable's attributes are part of its auxiliary data, and the history entry that each file adds makes every structure different.

# %% program
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Variable:
    def __init__(self, dims, data, attrs):
        self.dims, self.data, self.attrs = dims, data, dict(attrs)

    def tree_flatten(self):
        return (self.data,), (self.dims, tuple(sorted(self.attrs.items())))

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(aux[0], children[0], aux[1])


@jax.jit
def step(v):
    return Variable(v.dims, v.data - v.data.mean(), v.attrs)


def opened(file):
    return Variable(("time",), jnp.arange(6.0), {"units": "K", "history": f"read from {file}"})


calls = [(opened("a.nc"),), (opened("b.nc"),)]
