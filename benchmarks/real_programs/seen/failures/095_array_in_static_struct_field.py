# url: https://github.com/jax-ml/jax/issues/7826
# wrong: A field with pytree_node=False becomes part of the compilation key and is compared with ==, which an array cannot answer; make the array an ordinary field (or a tuple).

# %% fails
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

@struct.dataclass
class Model:
    weight: jax.Array
    grid: np.ndarray = struct.field(pytree_node=False)

@jax.jit
def evaluate(model):
    return jnp.sum(model.weight * model.grid)

for scale in (1.0, 2.0):
    print(evaluate(Model(jnp.full(4, scale), np.ones(4))))

# %% works
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

@struct.dataclass
class Model:
    weight: jax.Array
    grid: np.ndarray

@jax.jit
def evaluate(model):
    return jnp.sum(model.weight * model.grid)

for scale in (1.0, 2.0):
    print(evaluate(Model(jnp.full(4, scale), np.ones(4))))
