# url: https://github.com/ikostrikov/implicit_q_learning/issues/5
# verdict: correct
# why: sample_actions splits and returns the new key; the caller rebinds rng with it before the next call.

# %% program
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="scale")
def sample_actions(rng, obs, scale=1.0):
    rng, key = jax.random.split(rng)
    return rng, jnp.tanh(obs.sum() + scale * jax.random.normal(key, (2,)))


class Learner:
    def __init__(self, rng):
        self.rng = rng

    def act(self, obs):
        rng, actions = sample_actions(self.rng, obs)
        self.rng = rng
        return actions


def program(key):
    learner = Learner(key)
    return [learner.act(jnp.zeros(3)) for _ in range(4)]
