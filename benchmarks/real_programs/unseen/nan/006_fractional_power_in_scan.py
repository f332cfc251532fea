# url: https://github.com/climate-analytics-lab/jax-gcm/issues/558
# wrong: In the first step the rain is 0 and rain**0.5 has an infinite slope there; where throws the value away but the gradient is inf*0.
# advice: Put the safe value into the power's argument too, not only around its result.

# %% fails
import jax
import jax.numpy as jnp


def run(rate):
    def step(rain, _):
        fall = jnp.where(rain > 0, rain**0.5, 0.0)  # guilty
        return rain + rate - 0.1 * fall, fall

    return jax.lax.scan(step, rate * 0.0, None, length=5)[1].sum()


f = jax.grad(run)
args = (jnp.float32(0.2),)

# %% works
import jax
import jax.numpy as jnp


def run(rate):
    def step(rain, _):
        wet = rain > 0
        fall = jnp.where(wet, jnp.where(wet, rain, 1.0) ** 0.5, 0.0)
        return rain + rate - 0.1 * fall, fall

    return jax.lax.scan(step, rate * 0.0, None, length=5)[1].sum()


f = jax.grad(run)
args = (jnp.float32(0.2),)
