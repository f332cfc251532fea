# url: https://github.com/sgl-project/sglang-jax/issues/609
# cause: The batch keeps return_logprob in its auxiliary data, and warming up covered only the variant without it.

# %% program
import dataclasses

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Batch:
    tokens: jax.Array
    return_logprob: bool = dataclasses.field(default=False, metadata={"static": True})


@jax.jit
def step(batch):
    logits = jnp.cumsum(batch.tokens) * 1.0
    return jax.nn.log_softmax(logits) if batch.return_logprob else logits


calls = [(Batch(jnp.arange(8)),), (Batch(jnp.arange(8), return_logprob=True),)]
