# url: https://github.com/scipy/scipy/pull/22219
# wrong: Raising on non-finite input needs the data's values, which do not exist while jit traces; check outside, or with jax.experimental.checkify.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def assign_clusters(points, centroids):
    if not jnp.isfinite(points).all():
        raise ValueError("points must not contain infs or NaNs")
    d = jnp.sum((points[:, None] - centroids) ** 2, axis=-1)
    return jnp.argmin(d, axis=1)

print(assign_clusters(jnp.arange(6.0).reshape(3, 2), jnp.eye(2)))

# %% works
import jax
import jax.numpy as jnp
from jax.experimental import checkify

def assign_clusters(points, centroids):
    checkify.check(jnp.isfinite(points).all(), "points must not contain infs or NaNs")
    d = jnp.sum((points[:, None] - centroids) ** 2, axis=-1)
    return jnp.argmin(d, axis=1)

error, labels = jax.jit(checkify.checkify(assign_clusters))(jnp.arange(6.0).reshape(3, 2), jnp.eye(2))
error.throw()
print(labels)
