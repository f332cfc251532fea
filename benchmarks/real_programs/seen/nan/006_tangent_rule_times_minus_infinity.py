# url: https://github.com/google-deepmind/optax/pull/1762
# wrong: The hand-written tangent rule multiplies the tangent of the weights by the log-probability, which is -inf for a forbidden class; 0 times -inf is NaN although the value follows the convention 0 log 0 = 0.
# advice: Replace the -inf entries by a finite number in the rule too.

# %% fails
import jax
import jax.numpy as jnp


@jax.custom_jvp
def weighted(x, w):
    return w * jnp.where(w == 0, 0.0, jax.nn.log_softmax(x))


@weighted.defjvp
def weighted_jvp(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    logp = jax.nn.log_softmax(x)
    out = w * jnp.where(w == 0, 0.0, logp)
    from_x = w * (dx - jnp.sum(jax.nn.softmax(x) * dx))
    from_w = dw * logp  # guilty
    return out, from_x + from_w


def cross_entropy(x, w):
    return -weighted(x, w).sum()


f = jax.jacfwd(cross_entropy)
args = (jnp.array([-jnp.inf, 0.5, 0.0]), jnp.array([0.0, 1.0, 0.0]))

# %% works
import jax
import jax.numpy as jnp


@jax.custom_jvp
def weighted(x, w):
    return w * jnp.where(w == 0, 0.0, jax.nn.log_softmax(x))


@weighted.defjvp
def weighted_jvp(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    logp = jax.nn.log_softmax(x)
    out = w * jnp.where(w == 0, 0.0, logp)
    from_x = w * (dx - jnp.sum(jax.nn.softmax(x) * dx))
    from_w = dw * jnp.where(jnp.isfinite(logp), logp, 0.0)
    return out, from_x + from_w


def cross_entropy(x, w):
    return -weighted(x, w).sum()


f = jax.jacfwd(cross_entropy)
args = (jnp.array([-jnp.inf, 0.5, 0.0]), jnp.array([0.0, 1.0, 0.0]))
