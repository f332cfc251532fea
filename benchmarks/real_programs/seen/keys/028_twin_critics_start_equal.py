# url: https://github.com/vwxyzjn/cleanrl/pull/225
# verdict: reuse
# wrong: Both critics are initialised with the same key; their minimum is just the one critic and the overestimation is not reduced.
# needs: haiku
# shows: np.allclose(out[0], out[1])
# mend: critic.init(key, obs), critic.init(key, obs) ==> critic.init(k1, obs), critic.init(k2, obs)
# mend: obs = jnp.ones((7, 3)) ==> obs = jnp.ones((7, 3)); k1, k2 = jax.random.split(key)

# %% program
import haiku as hk
import jax
import jax.numpy as jnp


def weights(shape, dtype):
    return jax.random.normal(hk.next_rng_key(), shape, dtype)  # first # second


def program(key):
    critic = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(1, w_init=weights)(x)))
    obs = jnp.ones((7, 3))
    q1, q2 = critic.init(key, obs), critic.init(key, obs)
    return critic.apply(q1, obs), critic.apply(q2, obs)
