# url: https://github.com/naruya/VaxNeRF/issues/6
# wrong: jnp.broadcast_to takes an array or a number, not the list [1e10]; pass the number.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def ray_weights(density, z_vals):
    far = jnp.broadcast_to([1e10], z_vals[..., :1].shape)
    dists = jnp.concatenate([z_vals[..., 1:] - z_vals[..., :-1], far], -1)
    return 1.0 - jnp.exp(-density * dists)

print(ray_weights(jnp.ones((2, 4)) * 0.1, jnp.tile(jnp.arange(4.0), (2, 1))))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def ray_weights(density, z_vals):
    far = jnp.broadcast_to(1e10, z_vals[..., :1].shape)
    dists = jnp.concatenate([z_vals[..., 1:] - z_vals[..., :-1], far], -1)
    return 1.0 - jnp.exp(-density * dists)

print(ray_weights(jnp.ones((2, 4)) * 0.1, jnp.tile(jnp.arange(4.0), (2, 1))))
