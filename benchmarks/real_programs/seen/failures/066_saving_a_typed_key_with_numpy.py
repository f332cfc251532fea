# url: https://github.com/jax-ml/jax/pull/24481
# wrong: A typed key has no NumPy counterpart; take its raw data with jax.random.key_data first, and restore it with wrap_key_data.

# %% fails
import io
import jax
import numpy as np

state = {"step": 10, "rng": jax.random.key(7)}
buffer = io.BytesIO()
np.savez(buffer, step=state["step"], rng=np.asarray(state["rng"]))
print(len(buffer.getvalue()) > 0)

# %% works
import io
import jax
import numpy as np

state = {"step": 10, "rng": jax.random.key(7)}
buffer = io.BytesIO()
np.savez(buffer, step=state["step"], rng=np.asarray(jax.random.key_data(state["rng"])))
print(len(buffer.getvalue()) > 0)
