# url: https://github.com/jax-ml/jax/issues/763
# wrong: scan calls the body with two arguments, the carry and one tuple of slices; the body must take the pair (u, target) as one argument.

# %% fails
import jax
import jax.numpy as jnp

def reservoir(inputs, targets, tau=0.9):
    def net_step(x, u, target):
        x = tau * x + jnp.tanh(u)
        return x, (x - target) ** 2
    _, errors = jax.lax.scan(net_step, jnp.zeros(3), (inputs, targets))
    return errors.mean()

print(reservoir(jnp.ones((6, 3)), jnp.zeros((6, 3))))

# %% works
import jax
import jax.numpy as jnp

def reservoir(inputs, targets, tau=0.9):
    def net_step(x, slices):
        u, target = slices
        x = tau * x + jnp.tanh(u)
        return x, (x - target) ** 2
    _, errors = jax.lax.scan(net_step, jnp.zeros(3), (inputs, targets))
    return errors.mean()

print(reservoir(jnp.ones((6, 3)), jnp.zeros((6, 3))))
