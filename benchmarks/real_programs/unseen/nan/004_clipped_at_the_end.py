# url: https://github.com/jax-ml/jax/issues/23649
# wrong: clip brings the argument exactly to 1, where the derivative of arcsin is infinite; times the zero derivative of clip it is NaN.
# advice: Clip to the inside of the interval, by a few eps.

# %% fails
import jax
import jax.numpy as jnp


def pitch(accel):
    ratio = jnp.clip(accel / 9.81, -1.0, 1.0)
    return jnp.sum(jnp.arcsin(ratio))  # guilty


f = jax.grad(pitch)
args = (jnp.array([0.0, 4.0, 12.0]),)

# %% works
import jax
import jax.numpy as jnp


def pitch(accel):
    ratio = jnp.clip(accel / 9.81, -1.0 + 1e-6, 1.0 - 1e-6)
    return jnp.sum(jnp.arcsin(ratio))


f = jax.grad(pitch)
args = (jnp.array([0.0, 4.0, 12.0]),)
