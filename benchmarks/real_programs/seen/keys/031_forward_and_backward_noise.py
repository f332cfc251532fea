# url: https://github.com/jax-ml/jax/issues/18442
# verdict: reuse
# wrong: The custom rule saves the key and adds noise to the gradient with it, so the gradient's noise is the noise of the forward pass.
# shows: np.allclose(out[0] - 1.0, out[1] - 2.0, atol=1e-5)
# mend: return x**2 + jax.random.normal(key, x.shape)  # first ==> return x**2 + jax.random.normal(jax.random.fold_in(key, 0), x.shape)
# mend: 2 * x + jax.random.normal(key, x.shape)) ==> 2 * x + jax.random.normal(jax.random.fold_in(key, 1), x.shape))

# %% program
import jax
import jax.numpy as jnp


@jax.custom_vjp
def noisy_square(x, key):
    return x**2 + jax.random.normal(key, x.shape)  # first


def forward(x, key):
    return noisy_square(x, key), (x, key)


def backward(saved, g):
    x, key = saved
    return g * (2 * x + jax.random.normal(key, x.shape)), None  # second


noisy_square.defvjp(forward, backward)


def program(key):
    y, pull = jax.vjp(lambda x: noisy_square(x, key), jnp.ones(6))
    return y, pull(jnp.ones(6))[0]
