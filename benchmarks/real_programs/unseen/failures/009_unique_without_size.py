# url: https://github.com/jax-ml/jax/issues/10231
# wrong: How many distinct values jnp.unique finds depends on the data, so under jit it needs the static `size=` argument (or has to run outside jit).

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def effects_per_age(age_idx, values):
    ages, where = jnp.unique(age_idx, return_inverse=True)
    return ages, jax.ops.segment_sum(values, where, num_segments=5)

print(effects_per_age(jnp.array([24, 31, 24, 27]), jnp.arange(4.0)))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def effects_per_age(age_idx, values):
    ages, where = jnp.unique(age_idx, return_inverse=True, size=5, fill_value=-1)
    return ages, jax.ops.segment_sum(values, where, num_segments=5)

print(effects_per_age(jnp.array([24, 31, 24, 27]), jnp.arange(4.0)))
