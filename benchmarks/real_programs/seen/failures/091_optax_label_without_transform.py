# url: https://github.com/google/brax/issues/480
# wrong: Parameters are labelled "critic", but the table of transforms has no such label; the labels and the transforms' keys must agree.

# %% fails
import jax.numpy as jnp
import optax

params = {"policy": {"kernel": jnp.ones(3)}, "value": {"kernel": jnp.ones(3)}}
labels = {"policy": "actor", "value": "critic"}
tx = optax.multi_transform({"actor": optax.adam(1e-3), "value": optax.adam(1e-2)}, labels)
state = tx.init(params)
updates, state = tx.update(params, state, params)
print(updates["policy"]["kernel"])

# %% works
import jax.numpy as jnp
import optax

params = {"policy": {"kernel": jnp.ones(3)}, "value": {"kernel": jnp.ones(3)}}
labels = {"policy": "actor", "value": "critic"}
tx = optax.multi_transform({"actor": optax.adam(1e-3), "critic": optax.adam(1e-2)}, labels)
state = tx.init(params)
updates, state = tx.update(params, state, params)
print(updates["policy"]["kernel"])
