# url: https://github.com/lanl/scico/issues/535
# wrong: NumPy's generator is seeded with a number that is traced under vmap; NumPy randomness cannot run inside a transformation, so draw with jax.random from a key per example.

# %% fails
import numpy as np
import jax
import jax.numpy as jnp

def foam_image(seed, size=8):
    rng = np.random.RandomState(seed)
    centres = rng.rand(3, 2)
    grid = jnp.linspace(0, 1, size)
    return sum(jnp.exp(-((grid - c[0]) ** 2)) for c in centres)

print(jax.vmap(foam_image)(jnp.arange(4)).shape)

# %% works
import jax
import jax.numpy as jnp

def foam_image(seed, size=8):
    centres = jax.random.uniform(jax.random.key(seed), (3, 2))
    grid = jnp.linspace(0, 1, size)
    return sum(jnp.exp(-((grid - c[0]) ** 2)) for c in centres)

print(jax.vmap(foam_image)(jnp.arange(4)).shape)
