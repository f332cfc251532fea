# url: https://github.com/lollcat/fab-jax/pull/15
# verdict: reuse
# wrong: The transition operator of each intermediate distribution is set up with the same key, so the momenta at all temperatures are equal.
# shows: all(np.array_equal(s["momentum"], out[0]["momentum"]) for s in out)
# mend: [init_operator(k_op, beta) for beta in (0.25, 0.5, 1.0)] ==> [init_operator(k, beta) for k, beta in zip(jax.random.split(k_op, 3), (0.25, 0.5, 1.0))]

# %% program
import jax
import jax.numpy as jnp


def init_operator(key, beta):
    return {"beta": beta, "momentum": jax.random.normal(key, (3,)), "step": jnp.array(0.1)}  # first # second


def program(key):
    k_op, k_particles = jax.random.split(key)
    states = [init_operator(k_op, beta) for beta in (0.25, 0.5, 1.0)]
    states[0]["particles"] = jax.random.normal(k_particles, (4, 3))
    return states
