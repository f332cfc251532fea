# url: https://github.com/jax-ml/jax/issues/3689
# wrong: jnp.copyto does not exist, because it would write into its first argument; build the new array with jnp.where (or .at[...].set).

# %% fails
import jax.numpy as jnp

def clip_negative(rgb):
    out = jnp.array(rgb)
    jnp.copyto(out, 0.0, where=out < 0)
    return out

print(clip_negative([0.2, -0.1, 0.9]))

# %% works
import jax.numpy as jnp

def clip_negative(rgb):
    out = jnp.array(rgb)
    return jnp.where(out < 0, 0.0, out)

print(clip_negative([0.2, -0.1, 0.9]))
