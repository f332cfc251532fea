# url: https://github.com/blackjax-devs/blackjax/pull/627
# verdict: correct
# why: One array of keys is cut in two: the first rows initialise the chains, the others drive the kernel, one row a step.
# needs: blackjax

# %% program
import blackjax
import jax
import jax.numpy as jnp


def program(key, chains=3, steps=4):
    keys = jax.random.split(key, (steps + 1, chains))
    rmh = blackjax.additive_step_random_walk(
        lambda x: -0.5 * jnp.sum(x**2), blackjax.mcmc.random_walk.normal(0.5 * jnp.ones(2))
    )
    starts = jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys[0])
    states = jax.vmap(rmh.init)(starts)
    for row in keys[1:]:
        states, _ = jax.vmap(rmh.step)(row, states)
    return states.position
