# url: https://github.com/jax-ml/jax/issues/19547
# wrong: The class puts an array into its auxiliary data, which JAX compares with == from call to call, and arrays have no single truth value; make the array a child (aux data must be hashable and comparable).

# %% fails
import jax
import jax.numpy as jnp
import numpy as np

@jax.tree_util.register_pytree_node_class
class Lattice:
    def __init__(self, basis, spins):
        self.basis, self.spins = basis, spins
    def tree_flatten(self):
        return (self.spins,), (self.basis,)
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(aux[0], children[0])

@jax.jit
def magnetisation(lattice):
    return jnp.mean(lattice.spins)

for seed in (0, 1):
    spins = jax.random.rademacher(jax.random.key(seed), (8,), dtype=jnp.float32)
    print(magnetisation(Lattice(np.array([1.0, 0.5]), spins)))

# %% works
import jax
import jax.numpy as jnp
import numpy as np

@jax.tree_util.register_pytree_node_class
class Lattice:
    def __init__(self, basis, spins):
        self.basis, self.spins = basis, spins
    def tree_flatten(self):
        return (self.basis, self.spins), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

@jax.jit
def magnetisation(lattice):
    return jnp.mean(lattice.spins)

for seed in (0, 1):
    spins = jax.random.rademacher(jax.random.key(seed), (8,), dtype=jnp.float32)
    print(magnetisation(Lattice(np.array([1.0, 0.5]), spins)))
