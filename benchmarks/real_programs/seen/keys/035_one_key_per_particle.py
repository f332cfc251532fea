# url: https://github.com/genjax-community/genjax/issues/621
# verdict: correct
# why: The same name sub_keys is vmapped twice, but a new batch of keys was split off in between.

# %% program
import jax
import jax.numpy as jnp


def rejuvenate(key, particle):
    return particle + 0.1 * jax.random.normal(key)


def program(key, n_particles=8):
    particles = jnp.zeros(n_particles)
    for _ in range(2):
        key, sub = jax.random.split(key)
        sub_keys = jax.random.split(sub, n_particles)
        particles = jax.vmap(rejuvenate)(sub_keys, particles)
    return particles
