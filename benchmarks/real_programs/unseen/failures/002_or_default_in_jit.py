# url: https://github.com/jax-ml/jax/pull/16430
# wrong: `temperature or 1.0` asks for the truth value of a traced argument; test `is None` instead, because `or` is a boolean conversion in disguise.

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def sample_probs(logits, temperature=None):
    temperature = temperature or 1.0
    return jax.nn.softmax(logits / temperature)

logits = jnp.array([0.3, 1.2, -0.4])
print(sample_probs(logits))
print(sample_probs(logits, 0.5))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def sample_probs(logits, temperature=None):
    temperature = 1.0 if temperature is None else temperature
    return jax.nn.softmax(logits / temperature)

logits = jnp.array([0.3, 1.2, -0.4])
print(sample_probs(logits))
print(sample_probs(logits, 0.5))
