# url: https://github.com/google-deepmind/optax/issues/577
# cause: The optimizer is a static argument made of closures, so an optimizer built for the next learning rate is an unknown value.
# needs: optax

# %% program
import functools

import jax
import jax.numpy as jnp
import optax


@functools.partial(jax.jit, static_argnums=0)
def step(optim, params):
    grads = 2 * params
    updates, _ = optim.update(grads, optim.init(params))
    return optax.apply_updates(params, updates)


calls = [(optax.sgd(jnp.float32(rate)), jnp.ones(3)) for rate in (3e-3, 3e-4)]
