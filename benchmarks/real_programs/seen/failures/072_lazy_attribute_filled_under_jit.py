# url: https://github.com/pyro-ppl/numpyro/issues/1651
# wrong: The lazy attribute is computed for the first time inside jit and stores a tracer on the global object, which later use outside picks up; compute it in the constructor.

# %% fails
from functools import cached_property
import jax
import jax.numpy as jnp

class TruncatedNormal:
    def __init__(self, low, high):
        self.low, self.high = low, high
    @cached_property
    def log_mass(self):
        return jnp.log(jax.scipy.stats.norm.cdf(self.high) - jax.scipy.stats.norm.cdf(self.low))
    def log_prob(self, x):
        return jax.scipy.stats.norm.logpdf(x) - self.log_mass

prior = TruncatedNormal(-1.0, 2.0)
print(jax.jit(prior.log_prob)(0.5))
print(prior.log_prob(0.1))

# %% works
import jax
import jax.numpy as jnp

class TruncatedNormal:
    def __init__(self, low, high):
        self.low, self.high = low, high
        self.log_mass = jnp.log(jax.scipy.stats.norm.cdf(high) - jax.scipy.stats.norm.cdf(low))
    def log_prob(self, x):
        return jax.scipy.stats.norm.logpdf(x) - self.log_mass

prior = TruncatedNormal(-1.0, 2.0)
print(jax.jit(prior.log_prob)(0.5))
print(prior.log_prob(0.1))
