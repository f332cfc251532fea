# url: https://github.com/jax-ml/jax/issues/3133
# wrong: The lookup table is a NumPy array, and indexing it with a traced index calls NumPy's __getitem__; turn the table into a jnp array first.

# %% fails
import jax
import jax.numpy as jnp
import numpy as np

masses = np.array([1.008, 12.011, 14.007, 15.999])

@jax.jit
def kinetic_energy(species, velocities):
    m = masses[species]
    return 0.5 * jnp.sum(m[:, None] * velocities ** 2)

print(kinetic_energy(jnp.array([0, 0, 3]), jnp.ones((3, 3))))

# %% works
import jax
import jax.numpy as jnp
import numpy as np

masses = jnp.asarray(np.array([1.008, 12.011, 14.007, 15.999]))

@jax.jit
def kinetic_energy(species, velocities):
    m = masses[species]
    return 0.5 * jnp.sum(m[:, None] * velocities ** 2)

print(kinetic_energy(jnp.array([0, 0, 3]), jnp.ones((3, 3))))
