# url: https://github.com/jax-ml/jax/issues/21994
# wrong: samples[far] with a mask computed under jit has an unknown number of entries; write the update with jnp.where(far, ..., samples).

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def damp_outliers(samples):
    far = jnp.abs(samples) > 3.0
    return samples.at[far].set(samples[far] * 0.1)

print(damp_outliers(jnp.array([0.5, -4.0, 2.0, 7.5])))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def damp_outliers(samples):
    far = jnp.abs(samples) > 3.0
    return jnp.where(far, samples * 0.1, samples)

print(damp_outliers(jnp.array([0.5, -4.0, 2.0, 7.5])))
