# url: https://github.com/p-doom/jasmine/pull/214
# verdict: reuse
# wrong: One subkey serves for the noise level and for the noise itself, so large levels always meet large noise.
# shows: np.array_equal(np.argsort(out[0]), np.argsort(out[1]))
# mend: rng, noise_rng = jax.random.split(rng) ==> rng, noise_rng, level_rng = jax.random.split(rng, 3)
# mend: jax.random.uniform(noise_rng ==> jax.random.uniform(level_rng

# %% program
import jax


def program(rng):
    rng, noise_rng = jax.random.split(rng)
    level = jax.random.uniform(noise_rng, (12,), maxval=0.7)  # first
    noise = jax.random.normal(noise_rng, (12,))  # second
    return level, noise
