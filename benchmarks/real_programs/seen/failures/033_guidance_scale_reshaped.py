# url: https://github.com/huggingface/diffusers/issues/1746
# wrong: One guidance scale per device (2 values) cannot be reshaped to devices x prompts (2, 4), because reshape never repeats values; broadcast it.

# %% fails
import jax.numpy as jnp

prompt_ids = jnp.zeros((2, 4, 77), jnp.int32)
guidance_scale = jnp.full((2,), 7.5)
guidance_scale = guidance_scale.reshape(prompt_ids.shape[:2])
print(guidance_scale)

# %% works
import jax.numpy as jnp

prompt_ids = jnp.zeros((2, 4, 77), jnp.int32)
guidance_scale = jnp.full((2,), 7.5)
guidance_scale = jnp.broadcast_to(guidance_scale[:, None], prompt_ids.shape[:2])
print(guidance_scale)
