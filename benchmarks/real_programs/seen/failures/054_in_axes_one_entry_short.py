# url: https://github.com/jax-ml/jax/issues/9928
# wrong: The mapped function takes three arguments, but in_axes has two entries; add None for the shared network parameter.

# %% fails
import jax
import jax.numpy as jnp

def render(origin, direction, density):
    points = origin + jnp.linspace(0, 1, 8)[:, None] * direction
    return jnp.sum(density * jnp.exp(-jnp.sum(points ** 2, -1)))

render_all = jax.vmap(render, in_axes=(0, 0))
print(render_all(jnp.zeros((6, 3)), jnp.ones((6, 3)), 0.7))

# %% works
import jax
import jax.numpy as jnp

def render(origin, direction, density):
    points = origin + jnp.linspace(0, 1, 8)[:, None] * direction
    return jnp.sum(density * jnp.exp(-jnp.sum(points ** 2, -1)))

render_all = jax.vmap(render, in_axes=(0, 0, None))
print(render_all(jnp.zeros((6, 3)), jnp.ones((6, 3)), 0.7))
