# url: https://github.com/jax-ml/jax/issues/4572
# cause: The jitted function is vmapped over groups of different sizes; the trace is shared but each batch size is compiled.
# kind: recompile

# %% program
import jax
import jax.numpy as jnp


@jax.jit
def step(x):
    return jnp.cos(x) * 2


a, b = jnp.ones((4, 3)), jnp.ones((6, 3))
calls = [lambda: jax.vmap(step)(a), lambda: jax.vmap(step)(b)]
