# url: https://github.com/genjax-community/genjax/pull/454
# verdict: correct
# why: simulate splits its key and hands none back; the caller keeps the other half and never touches the one that it gave away.

# %% program
import jax


def simulate(key, n):
    key, sub_key = jax.random.split(key)
    slope = jax.random.normal(sub_key)
    key, sub_key = jax.random.split(key)
    return slope, slope + jax.random.normal(sub_key, (n,))


def program(key):
    traces = []
    for n in (3, 4, 5):
        key, sub_key = jax.random.split(key)
        traces.append(simulate(sub_key, n))
    return traces
