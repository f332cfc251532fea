# url: https://github.com/jax-ml/jax/issues/19570
# cause: self.update is a new bound-method object at each access, and jit compares functions by identity.

# %% program
import jax
import jax.numpy as jnp


class Trainer:
    rate = 0.1

    def update(self, w):
        return w - self.rate * jnp.sign(w)

    def fit(self, w):
        return jax.jit(self.update)(w)


trainer = Trainer()
step = trainer.fit
calls = [(jnp.ones(3),), (jnp.ones(3),), (jnp.ones(3),)]
