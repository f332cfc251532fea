# url: https://github.com/jax-ml/jax/pull/20139
# verdict: correct
# why: The key is cloned on purpose, to evaluate two settings with the same random numbers.
# repeats: jax.random.clone says that the second draw shall repeat the first.

# %% program
import jax


def simulate(key, volatility):
    return volatility * jax.random.normal(key, (30,)).cumsum()


def program(key):
    again = jax.random.clone(key)
    return simulate(key, 1.0), simulate(again, 1.01)
