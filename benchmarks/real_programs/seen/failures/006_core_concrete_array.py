# url: https://github.com/patrick-kidger/diffrax/pull/535
# wrong: jax.core.ConcreteArray was removed along with concrete tracers; ask whether the value is a jax.core.Tracer instead.

# %% fails
import jax
import jax.numpy as jnp

def check_step_size(dt0):
    if isinstance(jax.typeof(dt0), jax.core.ConcreteArray) and dt0 <= 0:
        raise ValueError("the step size must be positive")
    return dt0

@jax.jit
def heun(y, dt0):
    dt0 = check_step_size(dt0)
    k1 = -y
    return y + 0.5 * dt0 * (k1 - (y + dt0 * k1))

print(heun(jnp.ones(2), 0.1))

# %% works
import jax
import jax.numpy as jnp

def check_step_size(dt0):
    if not isinstance(dt0, jax.core.Tracer) and dt0 <= 0:
        raise ValueError("the step size must be positive")
    return dt0

@jax.jit
def heun(y, dt0):
    dt0 = check_step_size(dt0)
    k1 = -y
    return y + 0.5 * dt0 * (k1 - (y + dt0 * k1))

print(heun(jnp.ones(2), 0.1))
