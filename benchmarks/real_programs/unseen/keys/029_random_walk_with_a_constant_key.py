# url: https://github.com/blackjax-devs/blackjax/issues/400
# verdict: reuse
# wrong: The sampler's step gets the same key in each turn, so the chain moves by the same vector for ever.
# needs: blackjax
# shows: np.allclose(np.diff(out, axis=0), np.diff(out, axis=0)[0], atol=1e-5)
# mend: sampler.step(key, state) ==> sampler.step(jax.random.fold_in(key, i), state)

# %% program
import blackjax
import jax
import jax.numpy as jnp


def program(key):
    sampler = blackjax.additive_step_random_walk(lambda x: 0.0, blackjax.mcmc.random_walk.normal(jnp.ones(2)))
    state = sampler.init(jnp.zeros(2))
    chain = []
    for i in range(5):
        state, _ = sampler.step(key, state)  # first # second
        chain.append(state.position)
    return jnp.stack(chain)
