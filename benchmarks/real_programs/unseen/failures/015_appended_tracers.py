# url: https://github.com/jax-ml/jax/pull/5492
# wrong: Appending to an outside list from a scanned (traced) body stores tracers that are dead after the scan; return the value as the scan's second output instead.

# %% fails
import jax
import jax.numpy as jnp

losses = []

def body(w, x):
    loss = (w - x) ** 2
    losses.append(loss)
    return w - 0.1 * 2 * (w - x), None

w, _ = jax.lax.scan(body, 0.0, jnp.arange(4.0))
print(w, jnp.stack(losses))

# %% works
import jax
import jax.numpy as jnp

def body(w, x):
    loss = (w - x) ** 2
    return w - 0.1 * 2 * (w - x), loss

w, losses = jax.lax.scan(body, 0.0, jnp.arange(4.0))
print(w, losses)
