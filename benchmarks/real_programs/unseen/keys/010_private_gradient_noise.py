# url: https://github.com/jax-ml/jax/pull/3646
# verdict: reuse
# wrong: The noise of every leaf of the gradient is drawn with the same key, thus the leaves get the same numbers and privacy is weaker than promised.
# shows: np.array_equal(out["b"].ravel(), out["w"].ravel()[:4])
# mend: noise = [jax.random.normal(key, g.shape) for g in leaves] ==> noise = [jax.random.normal(k, g.shape) for k, g in zip(jax.random.split(key, len(leaves)), leaves)]

# %% program
import jax
import jax.numpy as jnp


def program(key):
    grads = {"w": jnp.zeros((3, 4)), "b": jnp.zeros((4,))}
    leaves, tree = jax.tree.flatten(grads)
    noise = [jax.random.normal(key, g.shape) for g in leaves]  # first # second
    return jax.tree.unflatten(tree, noise)
