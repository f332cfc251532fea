# url: https://github.com/luchris429/purejaxrl/issues/35
# verdict: correct
# why: `rng` and `_rng` are assigned anew all the time, but each draw has a child that is used once.

# %% program
import jax


def program(rng):
    rng, _rng = jax.random.split(rng)
    params = jax.random.normal(_rng, (3,))
    rng, _rng = jax.random.split(rng)
    obs = jax.vmap(lambda k: jax.random.uniform(k, (2,)))(jax.random.split(_rng, 4))

    def step(rng, _):
        rng, _rng = jax.random.split(rng)
        action = jax.random.randint(_rng, (4,), 0, 5)
        return rng, action

    rng, _rng = jax.random.split(rng)
    _rng, actions = jax.lax.scan(step, _rng, None, 3)
    return params, obs, actions, jax.random.normal(rng)
