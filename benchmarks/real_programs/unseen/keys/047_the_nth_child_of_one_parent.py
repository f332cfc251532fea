# url: https://github.com/jax-ml/jax/issues/7763
# verdict: correct
# why: The parent is split anew in each step but each step takes another child, so no key is drawn from twice.

# %% program
import jax


def program(key):
    draws = []
    for step in range(4):
        step_key = jax.random.split(key, step + 1)[step]
        draws.append(jax.random.normal(step_key, (3,)))
    return draws
