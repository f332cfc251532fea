# url: https://github.com/jax-ml/jax/pull/20534
# wrong: With 64-bit mode on, the host's Python float is a float64, but the callback is declared to return float32; return np.float32(...) or declare float64.

# %% fails
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from jax.experimental import io_callback

readings = [20.5, 21.0]

def next_reading():
    return readings.pop(0)

@jax.jit
def control(setpoint):
    measured = io_callback(next_reading, jax.ShapeDtypeStruct((), jnp.float32), ordered=True)
    return setpoint - measured

print(control(22.0))

# %% works
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

readings = [20.5, 21.0]

def next_reading():
    return np.float32(readings.pop(0))

@jax.jit
def control(setpoint):
    measured = io_callback(next_reading, jax.ShapeDtypeStruct((), jnp.float32), ordered=True)
    return setpoint - measured

print(control(22.0))
