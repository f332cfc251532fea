# url: https://github.com/pyro-ppl/numpyro/pull/842
# verdict: reuse
# wrong: The key is bound by partial before jit, so the "random" subset of particles is the same in each call of the kernel.
# shows: np.array_equal(out[0], out[1])
# mend: functools.partial(subset, key)) ==> subset)
# mend: kernel(particles), kernel(particles + 10) ==> kernel(k1, particles), kernel(k2, particles + 10)
# mend: particles = jnp.zeros(100) ==> k1, k2 = jax.random.split(key); particles = jnp.zeros(100)

# %% program
import functools

import jax
import jax.numpy as jnp


def subset(key, particles):
    index = jax.random.randint(key, (12,), 0, particles.shape[0])  # first # second
    return index + 0 * particles[index].astype(int)


def program(key):
    kernel = jax.jit(functools.partial(subset, key))
    particles = jnp.zeros(100)
    return kernel(particles), kernel(particles + 10)
