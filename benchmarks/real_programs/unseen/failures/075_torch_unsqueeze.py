# url: https://github.com/Edresson/VoiceSplit/issues/3
# wrong: unsqueeze is a PyTorch method; on JAX (and NumPy) arrays insert an axis with jnp.expand_dims or x[None].

# %% fails
import jax.numpy as jnp

spectrogram = jnp.ones((5, 8))
batch = spectrogram.unsqueeze(0)
print(batch.shape)

# %% works
import jax.numpy as jnp

spectrogram = jnp.ones((5, 8))
batch = jnp.expand_dims(spectrogram, 0)
print(batch.shape)
