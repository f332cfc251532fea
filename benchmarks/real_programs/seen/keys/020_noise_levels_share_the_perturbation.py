# url: https://github.com/gchq/coreax/issues/375
# verdict: reuse
# wrong: The loop over noise levels perturbs the data with the same key each time, so all levels see one perturbation at different scales.
# shows: np.allclose(out[0] / out[0].std(), out[2] / out[2].std(), atol=1e-4)
# mend: lax.map(conditional_loss, sigmas) ==> lax.map(lambda a: conditional_loss(*a), (sigmas, jax.random.split(key, 3)))
# mend: def conditional_loss(sigma): ==> def conditional_loss(sigma, key):

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def program(key):
    data = jnp.linspace(0.0, 1.0, 20)
    sigmas = jnp.array([0.1, 1.0, 10.0])

    def conditional_loss(sigma):
        perturbed = data + sigma * jax.random.normal(key, data.shape)  # first # second
        return perturbed - data

    return lax.map(conditional_loss, sigmas)
