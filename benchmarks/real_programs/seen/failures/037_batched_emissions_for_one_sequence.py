# url: https://github.com/probml/dynamax/issues/400
# wrong: The filter step is written for one sequence of vectors and multiplies a matrix with a whole (batch, dim) block the wrong way round; map the function over the batch with vmap.

# %% fails
import jax
import jax.numpy as jnp

def filter_means(emissions, H, gain):
    def step(mean, y):
        mean = mean + gain @ (y - H @ mean)
        return mean, mean
    return jax.lax.scan(step, jnp.zeros(H.shape[1:]), emissions)[1]

H = jnp.ones((2, 3)) * 0.5
gain = jnp.ones((3, 2)) * 0.1
sequences = jnp.ones((7, 10, 2))
print(filter_means(jnp.swapaxes(sequences, 0, 1), H, gain).shape)

# %% works
import jax
import jax.numpy as jnp

def filter_means(emissions, H, gain):
    def step(mean, y):
        mean = mean + gain @ (y - H @ mean)
        return mean, mean
    return jax.lax.scan(step, jnp.zeros(H.shape[1:]), emissions)[1]

H = jnp.ones((2, 3)) * 0.5
gain = jnp.ones((3, 2)) * 0.1
sequences = jnp.ones((7, 10, 2))
print(jax.vmap(filter_means, in_axes=(0, None, None))(sequences, H, gain).shape)
