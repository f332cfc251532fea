# url: https://github.com/google-deepmind/optax/issues/1784
# wrong: With float16 gradients the optimizer's eps of 1e-8 rounds to 0, so a zero gradient is divided by zero.
# advice: Keep the optimizer's state and updates in float32, or pass an eps that float16 can hold.
# needs: optax

# %% fails
import jax.numpy as jnp
import optax

tx = optax.scale_by_rms()


def f(grads):
    updates, _ = tx.update(grads, tx.init(grads))  # guilty
    return updates


args = (jnp.zeros(4, jnp.float16),)

# %% works
import jax.numpy as jnp
import optax

tx = optax.scale_by_rms(eps=1e-4)


def f(grads):
    updates, _ = tx.update(grads, tx.init(grads))
    return updates


args = (jnp.zeros(4, jnp.float16),)
