# url: https://github.com/jax-ml/jax/issues/3038
# wrong: jnp functions do not accept Python lists the way NumPy's do; stack the losses into an array first.

# %% fails
import jax.numpy as jnp

losses = []
for x in (1.0, 2.0, 4.0):
    losses.append(jnp.square(x - 2.0))
print(jnp.mean(losses))

# %% works
import jax.numpy as jnp

losses = []
for x in (1.0, 2.0, 4.0):
    losses.append(jnp.square(x - 2.0))
print(jnp.mean(jnp.stack(losses)))
