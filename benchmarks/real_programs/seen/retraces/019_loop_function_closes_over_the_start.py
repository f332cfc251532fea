# url: https://github.com/pyro-ppl/numpyro/pull/2171
# cause: run wraps the loop in a new closure over its initial value each time and jits the closure.

# %% program
import jax
import jax.numpy as jnp


def sample(i, chain):
    return 0.5 * chain + jnp.sin(i * 1.0)


def step(init):
    def update():
        return jax.lax.fori_loop(0, 10, sample, init)

    return jax.jit(update)()


calls = [(jnp.zeros(3),), (jnp.ones(3),)]
