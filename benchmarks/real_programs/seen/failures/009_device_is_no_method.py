# url: https://github.com/huggingface/datasets/issues/6884
# wrong: An array's .device is an attribute now, not a method; drop the parentheses (or use .devices()).

# %% fails
import jax
import jax.numpy as jnp

def format_row(row, device):
    return {name: jax.device_put(jnp.asarray(column), device) for name, column in row.items()}

target = jax.devices()[0]
row = format_row({"tokens": [3, 1, 2], "length": 3}, target)
assert all(column.device() == target for column in row.values())
print("all columns on", target)

# %% works
import jax
import jax.numpy as jnp

def format_row(row, device):
    return {name: jax.device_put(jnp.asarray(column), device) for name, column in row.items()}

target = jax.devices()[0]
row = format_row({"tokens": [3, 1, 2], "length": 3}, target)
assert all(column.device == target for column in row.values())
print("all columns on", target)
