# url: https://github.com/jax-ml/jax/pull/181
# verdict: reuse
# wrong: `update` splits the key it is handed and the loop splits that key again, so update's noise and the observation's are drawn with the same child.
# shows: np.array_equal(out[0][1], out[0][2])
# mend: value = update(rng) ==> rng, sub = jax.random.split(rng); value = update(sub)

# %% program
import jax


def update(rng):
    prior_rng, eps_rng = jax.random.split(rng)  # first
    return jax.random.normal(prior_rng, (8,)), jax.random.normal(eps_rng, (8,))


def program(rng):
    values = []
    for _ in range(3):
        value = update(rng)
        rng, obs_rng = jax.random.split(rng)  # second
        values.append(value + (jax.random.normal(obs_rng, (8,)),))
    return values
