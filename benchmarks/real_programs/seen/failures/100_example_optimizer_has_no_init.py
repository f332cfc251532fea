# url: https://github.com/jax-ml/jax/issues/9332
# wrong: The Optimizer of jax.example_libraries has the fields init_fn, update_fn and params_fn, not init, update and get_params as the old text says.

# %% fails
import jax
import jax.numpy as jnp
from jax.example_libraries import optimizers

opt = optimizers.sgd(0.1)
opt_state = opt.init(jnp.ones(3))
for i in range(3):
    g = jax.grad(lambda w: jnp.sum(w ** 2))(opt.get_params(opt_state))
    opt_state = opt.update(i, g, opt_state)
print(opt.get_params(opt_state))

# %% works
import jax
import jax.numpy as jnp
from jax.example_libraries import optimizers

opt = optimizers.sgd(0.1)
opt_state = opt.init_fn(jnp.ones(3))
for i in range(3):
    g = jax.grad(lambda w: jnp.sum(w ** 2))(opt.params_fn(opt_state))
    opt_state = opt.update_fn(i, g, opt_state)
print(opt.params_fn(opt_state))
