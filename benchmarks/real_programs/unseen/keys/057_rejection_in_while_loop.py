# url: https://github.com/blackjax-devs/blackjax/issues/53
# verdict: correct
# why: The loop's state carries a fresh key from turn to turn.

# %% program
import jax
import jax.numpy as jnp


def program(key):
    def outside(state):
        _, point = state
        return jnp.sum(point**2) > 1.0

    def retry(state):
        key, _ = state
        key, sub = jax.random.split(key)
        return key, jax.random.uniform(sub, (2,), minval=-1, maxval=1)

    return jax.lax.while_loop(outside, retry, (key, jnp.array([2.0, 2.0])))[1]
