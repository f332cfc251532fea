# url: https://github.com/jax-ml/jax/issues/2502
# wrong: The custom JVP returns a tangent of shape (1,) for a scalar output; output and tangent must have the same shape.

# %% fails
import jax
import jax.numpy as jnp

@jax.custom_jvp
def log_normalizer(q):
    return jnp.logaddexp(q[0], 0.0)

@log_normalizer.defjvp
def rule(primals, tangents):
    (q,), (q_dot,) = primals, tangents
    return log_normalizer(q), jax.nn.sigmoid(q) * q_dot

print(jax.grad(log_normalizer)(jnp.array([0.3])))

# %% works
import jax
import jax.numpy as jnp

@jax.custom_jvp
def log_normalizer(q):
    return jnp.logaddexp(q[0], 0.0)

@log_normalizer.defjvp
def rule(primals, tangents):
    (q,), (q_dot,) = primals, tangents
    return log_normalizer(q), (jax.nn.sigmoid(q) * q_dot)[0]

print(jax.grad(log_normalizer)(jnp.array([0.3])))
