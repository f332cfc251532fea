# url: https://github.com/blackjax-devs/blackjax/pull/523
# verdict: correct
# why: The library's kernel splits its key for proposal and acceptance; each step has a key of its own.
# needs: blackjax

# %% program
import blackjax
import jax
import jax.numpy as jnp


def program(key):
    mala = blackjax.mala(lambda x: -0.5 * jnp.sum(x**2), step_size=0.5)
    state = mala.init(jnp.ones(2))

    def one(state, key):
        state, _ = mala.step(key, state)
        return state, state.position

    return jax.lax.scan(one, state, jax.random.split(key, 8))[1]
