# url: https://github.com/google-deepmind/distrax/issues/216
# wrong: The unbounded log-scale of one action has run down to -120; exp makes it exactly 0 in float32 and the standardised action is 0/0.
# advice: Clip the log-scale before exp.

# %% fails
import jax
import jax.numpy as jnp


def log_prob(mean, log_std, action):
    std = jnp.exp(log_std)
    z = (action - mean) / std  # guilty
    return jnp.sum(-0.5 * z**2 - log_std, axis=-1)


def actor_loss(params, obs, adv):
    mean = obs @ params["w"]
    action = jax.lax.stop_gradient(mean)
    return -(log_prob(mean, params["log_std"], action) * adv).mean()


f = actor_loss
args = ({"w": jnp.ones((2, 2)), "log_std": jnp.array([-0.5, -120.0])}, jnp.ones((3, 2)), jnp.ones(3))

# %% works
import jax
import jax.numpy as jnp


def log_prob(mean, log_std, action):
    log_std = jnp.clip(log_std, -20.0, 2.0)
    std = jnp.exp(log_std)
    z = (action - mean) / std
    return jnp.sum(-0.5 * z**2 - log_std, axis=-1)


def actor_loss(params, obs, adv):
    mean = obs @ params["w"]
    action = jax.lax.stop_gradient(mean)
    return -(log_prob(mean, params["log_std"], action) * adv).mean()


f = actor_loss
args = ({"w": jnp.ones((2, 2)), "log_std": jnp.array([-0.5, -120.0])}, jnp.ones((3, 2)), jnp.ones(3))
