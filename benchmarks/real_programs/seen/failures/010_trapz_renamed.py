# url: https://github.com/HajimeKawahara/exojax/pull/476
# wrong: jnp.trapz was removed, following NumPy 2; it is called jnp.trapezoid (or jax.scipy.integrate.trapezoid).

# %% fails
import jax
import jax.numpy as jnp

@jax.jit
def optical_depth(cross_section, pressure, mixing_ratio):
    return jnp.trapz(cross_section * mixing_ratio, pressure)

p = jnp.linspace(0.1, 1.0, 20)
print(optical_depth(jnp.exp(-p), p, 0.02))

# %% works
import jax
import jax.numpy as jnp

@jax.jit
def optical_depth(cross_section, pressure, mixing_ratio):
    return jnp.trapezoid(cross_section * mixing_ratio, pressure)

p = jnp.linspace(0.1, 1.0, 20)
print(optical_depth(jnp.exp(-p), p, 0.02))
