# url: https://github.com/instadeepai/Mava/pull/1096
# verdict: reuse
# wrong: In the rollout's scan the key is split but the carry returns the old one, so each environment step samples with the same action key.
# shows: len(set(np.asarray(out).tolist())) == 1
# mend: _, act_key = jax.random.split(key) ==> key, act_key = jax.random.split(key)

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def program(key):
    logits = jnp.zeros(50)

    def env_step(carry, _):
        obs, key = carry
        _, act_key = jax.random.split(key)  # first # second
        action = jax.random.categorical(act_key, logits)
        return (obs + action, key), action

    return lax.scan(env_step, (jnp.array(0), key), None, length=12)[1]
