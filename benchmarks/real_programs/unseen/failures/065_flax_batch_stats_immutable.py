# url: https://github.com/google/evojax/issues/60
# wrong: Batch norm updates its running statistics in training, so apply needs mutable=['batch_stats'] and returns them.
# needs: flax

# %% fails
import flax.linen as nn
import jax
import jax.numpy as jnp

class Policy(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(x))
        return nn.Dense(2)(nn.relu(x))

policy = Policy()
obs = jnp.ones((6, 3))
variables = policy.init(jax.random.key(0), obs, train=False)
actions = policy.apply(variables, obs, train=True)
print(actions.shape)

# %% works
import flax.linen as nn
import jax
import jax.numpy as jnp

class Policy(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(x))
        return nn.Dense(2)(nn.relu(x))

policy = Policy()
obs = jnp.ones((6, 3))
variables = policy.init(jax.random.key(0), obs, train=False)
actions, updates = policy.apply(variables, obs, train=True, mutable=["batch_stats"])
print(actions.shape)
