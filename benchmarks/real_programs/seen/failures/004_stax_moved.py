# url: https://github.com/jax-ml/jax/issues/12160
# wrong: stax left jax.experimental; it is kept as an example under jax.example_libraries.

# %% fails
import jax
from jax.experimental import stax

init_flow, apply_flow = stax.serial(stax.Dense(16), stax.Tanh, stax.Dense(2))
out_shape, weights = init_flow(jax.random.key(0), (-1, 2))
print(out_shape, apply_flow(weights, jax.random.normal(jax.random.key(1), (5, 2))).shape)

# %% works
import jax
from jax.example_libraries import stax

init_flow, apply_flow = stax.serial(stax.Dense(16), stax.Tanh, stax.Dense(2))
out_shape, weights = init_flow(jax.random.PRNGKey(0), (-1, 2))
print(out_shape, apply_flow(weights, jax.random.normal(jax.random.key(1), (5, 2))).shape)
