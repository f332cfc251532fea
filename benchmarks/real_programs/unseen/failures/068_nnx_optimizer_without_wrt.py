# url: https://github.com/google/flax/issues/5060
# wrong: Since Flax 0.11 nnx.Optimizer needs wrt=, the kind of variable to train; pass wrt=nnx.Param.
# needs: flax optax

# %% fails
import optax
from flax import nnx

model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3))
print(type(optimizer).__name__)

# %% works
import optax
from flax import nnx

model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
print(type(optimizer).__name__)
