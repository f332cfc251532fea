# url: https://github.com/mlcommons/algorithmic-efficiency/pull/273
# verdict: reuse
# wrong: Row and column of the patch that is cut and mixed are drawn with the same key, so the patch always lies on the image's diagonal.
# shows: np.array_equal(out[0], out[1])
# mend: col = jax.random.randint(key ==> col = jax.random.randint(jax.random.fold_in(key, 1)
# mend: row = jax.random.randint(key ==> row = jax.random.randint(jax.random.fold_in(key, 0)

# %% program
import jax
import jax.numpy as jnp


def cut(key, image):
    row = jax.random.randint(key, (), 0, 32)  # first
    col = jax.random.randint(key, (), 0, 32)  # second
    i = jnp.arange(32)
    inside = (jnp.abs(i - row)[:, None] < 4) & (jnp.abs(i - col)[None, :] < 4)
    return row, col, jnp.where(inside, 0.0, image)


def program(key):
    return jax.vmap(cut)(jax.random.split(key, 8), jnp.ones((8, 32, 32)))
