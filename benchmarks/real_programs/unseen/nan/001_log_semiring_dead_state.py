# url: https://github.com/jax-ml/jax/issues/6811
# wrong: In the forward recursion both predecessors of a state are impossible (-inf), and the gradient of logaddexp at (-inf, -inf) through the shifted maximum is NaN.
# advice: Use a large negative finite number instead of -inf for log(0), or replace the operands with where before the log-sum.

# %% fails
import jax
import jax.numpy as jnp


def loss(scores):
    dead = jnp.array([-jnp.inf, 0.0]) + scores
    top = jnp.array([-jnp.inf, -jnp.inf])
    m = jnp.maximum(dead, top)
    merged = m + jnp.log(jnp.exp(dead - m) + jnp.exp(top - m))  # guilty
    return jnp.sum(jnp.where(jnp.isfinite(merged), merged, 0.0))


f = jax.grad(loss)
args = (jnp.array([0.3, 0.2]),)

# %% works
import jax
import jax.numpy as jnp


def loss(scores):
    dead = jnp.array([-1e9, 0.0]) + scores
    top = jnp.array([-1e9, -1e9])
    merged = jnp.logaddexp(dead, top)
    return jnp.sum(jnp.where(merged > -1e8, merged, 0.0))


f = jax.grad(loss)
args = (jnp.array([0.3, 0.2]),)
