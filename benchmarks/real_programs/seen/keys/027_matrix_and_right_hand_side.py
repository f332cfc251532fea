# url: https://github.com/normal-computing/thermox/pull/13
# verdict: reuse
# wrong: The random test system takes the matrix and the right-hand side from the same key; the latter equals the first row and the solution is a unit vector.
# shows: np.allclose(out, np.eye(5)[0], atol=1e-3)
# mend: b = jax.random.normal(key, (5,)) ==> b = jax.random.normal(k_b, (5,))
# mend: matrix = jax.random.normal(key, (5, 5)) ==> k_a, k_b = jax.random.split(key); matrix = jax.random.normal(k_a, (5, 5))

# %% program
import jax
import jax.numpy as jnp


def program(key):
    matrix = jax.random.normal(key, (5, 5))  # first
    b = jax.random.normal(key, (5,))  # second
    return jnp.linalg.solve(matrix.T, b)
