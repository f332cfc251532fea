# url: https://github.com/huggingface/diffusers/pull/6051
# verdict: reuse
# wrong: The denoising loop hands the same key to the scheduler at every time step, so the fresh noise of all steps is one and the same image.
# shows: np.allclose(np.diff(out[1:], axis=0), 0.0, atol=1e-6)
# mend: noise = renoise(prng, t) ==> noise = renoise(jax.random.fold_in(prng, t), t)

# %% program
import jax
import jax.numpy as jnp
from jax import lax


def renoise(key, t):
    return jax.random.normal(key, (8,))  # first # second


def program(key):
    k_start, prng = jax.random.split(key)
    latents = jax.random.normal(k_start, (8,))

    def body(t, carry):
        latents, trace = carry
        noise = renoise(prng, t)
        return 0.5 * latents + 0.1 * noise, trace.at[t].set(noise)

    return lax.fori_loop(0, 5, body, (latents, jnp.zeros((5, 8))))[1]
