# url: https://github.com/p-doom/jasmine/pull/239
# verdict: correct
# why: The key is an example argument for lower and compile, which do not run the step.

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def train_step(x, rng):
    return x + jax.random.normal(rng, x.shape)


def program(rng):
    x = jnp.zeros(4)
    compiled = train_step.lower(x, rng).compile()
    for _ in range(3):
        rng, step_rng = jax.random.split(rng)
        x = compiled(x, step_rng)
    return x
