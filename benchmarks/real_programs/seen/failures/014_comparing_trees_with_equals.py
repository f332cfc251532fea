# url: https://github.com/jax-ml/jax/issues/11089
# wrong: == on two dicts of arrays compares the arrays elementwise and then asks for one truth value; compare leaf by leaf, for example jax.tree.all(jax.tree.map(jnp.array_equal, a, b)).

# %% fails
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

kernel = {"lengthscale": jnp.ones((2, 1)), "variance": jnp.zeros((2,))}
flat, restore = ravel_pytree(kernel)
round_trip = restore(flat)
assert round_trip == kernel
print("the round trip is exact")

# %% works
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

kernel = {"lengthscale": jnp.ones((2, 1)), "variance": jnp.zeros((2,))}
flat, restore = ravel_pytree(kernel)
round_trip = restore(flat)
assert jax.tree.all(jax.tree.map(jnp.array_equal, round_trip, kernel))
print("the round trip is exact")
