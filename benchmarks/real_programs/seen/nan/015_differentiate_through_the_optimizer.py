# url: https://github.com/jax-ml/jax/issues/8893
# wrong: The meta-gradient goes through an Adam-like update; one weight has gradient 0, so its second moment is 0 and the root's slope there is infinite; the epsilon outside of the root does not help.
# advice: Add an epsilon inside the root (eps_root in optax).

# %% fails
import jax
import jax.numpy as jnp


def inner_loss(w, x):
    return jnp.sum((w * x - 1.0) ** 2)


def adam_step(w, x, lr):
    g = jax.grad(inner_loss)(w, x)
    nu = 0.1 * g**2
    root = jnp.sqrt(nu)  # guilty
    return w - lr * g / (root + 1e-8)


def meta_loss(scale, w, x):
    return inner_loss(adam_step(w * scale, x, 0.1), x)


f = jax.grad(meta_loss)
args = (jnp.float32(1.0), jnp.array([0.5, 0.5]), jnp.array([1.0, 0.0]))

# %% works
import jax
import jax.numpy as jnp


def inner_loss(w, x):
    return jnp.sum((w * x - 1.0) ** 2)


def adam_step(w, x, lr):
    g = jax.grad(inner_loss)(w, x)
    nu = 0.1 * g**2
    root = jnp.sqrt(nu + 1e-12)
    return w - lr * g / (root + 1e-8)


def meta_loss(scale, w, x):
    return inner_loss(adam_step(w * scale, x, 0.1), x)


f = jax.grad(meta_loss)
args = (jnp.float32(1.0), jnp.array([0.5, 0.5]), jnp.array([1.0, 0.0]))
