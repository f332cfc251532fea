# url: https://github.com/blackjax-devs/sampling-book/issues/39
# wrong: blackjax.sgld(...) returns a SamplingAlgorithm (init and step), not a function; jit its step.
# needs: blackjax

# %% fails
import blackjax
import jax
import jax.numpy as jnp

def grad_fn(position, batch):
    return -(position - batch.mean())

sgld = blackjax.sgld(grad_fn)
kernel = jax.jit(sgld)
print(kernel(jax.random.key(0), jnp.array(0.0), jnp.arange(4.0), 1e-2))

# %% works
import blackjax
import jax
import jax.numpy as jnp

def grad_fn(position, batch):
    return -(position - batch.mean())

sgld = blackjax.sgld(grad_fn)
kernel = jax.jit(sgld.step)
print(kernel(jax.random.key(0), jnp.array(0.0), jnp.arange(4.0), 1e-2))
