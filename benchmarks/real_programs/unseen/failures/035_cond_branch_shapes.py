# url: https://github.com/robfiras/loco-mujoco/issues/87
# wrong: One branch of the cond returns a metric per joint and the other a scalar placeholder; both branches must return the same shapes and dtypes.

# %% fails
import jax
import jax.numpy as jnp

def evaluate(errors):
    return {"per_joint": jnp.sqrt((errors ** 2).mean(axis=0))}

def skip(errors):
    return {"per_joint": jnp.array(0.0)}

@jax.jit
def maybe_evaluate(counter, errors):
    return jax.lax.cond(counter % 10 == 0, evaluate, skip, errors)

print(maybe_evaluate(10, jnp.ones((4, 3))))

# %% works
import jax
import jax.numpy as jnp

def evaluate(errors):
    return {"per_joint": jnp.sqrt((errors ** 2).mean(axis=0))}

def skip(errors):
    return {"per_joint": jnp.zeros(errors.shape[1])}

@jax.jit
def maybe_evaluate(counter, errors):
    return jax.lax.cond(counter % 10 == 0, evaluate, skip, errors)

print(maybe_evaluate(10, jnp.ones((4, 3))))
