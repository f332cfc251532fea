# url: https://github.com/BirkhoffG/jax-dataloader/issues/39
# verdict: reuse
# wrong: The loader's key decides both which rows are held out and in which order the rows are visited, so the held out rows always come last.
# shows: sorted(np.asarray(out[0]).tolist()) == sorted(np.asarray(out[1])[-20:].tolist())
# mend: loader_key = split_key = key ==> loader_key, split_key = jax.random.split(key)

# %% program
import jax


def program(key):
    loader_key = split_key = key
    held_out = jax.random.permutation(split_key, 100)[-20:]  # first
    order = jax.random.permutation(loader_key, 100)  # second
    return held_out, order
