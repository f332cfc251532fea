# url: https://github.com/jax-ml/jax/issues/9024
# cause: The static tree has hash and equality over all of its fields, and one of them is the list of losses that grows with every step.

# %% program
import dataclasses
import functools

import jax
import jax.numpy as jnp


@dataclasses.dataclass
class Run:
    depth: int
    log: list

    def __hash__(self):
        return hash((self.depth, tuple(self.log)))


@functools.partial(jax.jit, static_argnums=0)
def step(run, x):
    for _ in range(run.depth):
        x = jnp.sin(x)
    return x.sum()


log = []


def turn():
    log.append(float(step(Run(2, list(log)), jnp.ones(3))))


calls = [turn, turn, turn]
