# url: https://github.com/blackjax-devs/blackjax/pull/656
# verdict: correct
# why: The same parent is folded in each step, but with another number each time, and it is never drawn from.

# %% program
import jax


def program(key):
    draws = []
    for step in range(5):
        sub = jax.random.fold_in(key, step)
        draws.append(jax.random.normal(sub, (3,)))
    return draws
