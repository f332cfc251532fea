# url: https://github.com/CDCgov/DynODE/issues/213
# verdict: reuse
# wrong: The key of a missing parameter is folded with the parameter's name only, so each particle and each chain gets the same value.
# shows: len({float(p["waning"]) for p in out}) == 1
# mend: fill(key, p) for p in particles ==> fill(jax.random.fold_in(key, i), p) for i, p in enumerate(particles)

# %% program
import zlib

import jax


def fill(key, particle):
    full = dict(particle)
    for name in ("r0", "waning"):
        if name not in full:
            sub = jax.random.fold_in(key, zlib.crc32(name.encode()))
            full[name] = jax.random.uniform(sub)  # first # second
    return full


def program(key):
    particles = [{"r0": 2.0}, {"r0": 2.5}, {"r0": 3.1}]
    return [fill(key, p) for p in particles]
