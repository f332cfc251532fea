# url: https://github.com/michael-0brien/cryojax/issues/58
# verdict: reuse
# wrong: The pipeline splits one key per component but the ensemble is given the key of the ice, so the conformation repeats the ice pattern.
# shows: np.array_equal(out["ice"][:4], out["conformation"])
# mend: "conformation": jax.random.normal(keys[1] ==> "conformation": jax.random.normal(keys[2]

# %% program
import jax


def program(key):
    keys = jax.random.split(key, 3)
    return {
        "detector": jax.random.normal(keys[0], (12,)),
        "ice": jax.random.normal(keys[1], (12,)),  # first
        "conformation": jax.random.normal(keys[1], (4,)),  # second
    }
