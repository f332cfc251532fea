# url: https://github.com/jax-ml/jax/issues/6853
# wrong: A dict is unhashable and so cannot be a static argument, let alone one with an array in it; pass the number of taps static and the array as an ordinary argument.

# %% fails
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnums=1)
def equalise(signal, options):
    return signal[: options["taps"]] * options["gain"]

print(equalise(jnp.arange(10.0), {"taps": 5, "gain": jnp.ones(5)}))

# %% works
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.jit, static_argnames="taps")
def equalise(signal, gain, taps):
    return signal[:taps] * gain

print(equalise(jnp.arange(10.0), jnp.ones(5), taps=5))
