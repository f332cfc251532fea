# url: https://github.com/google/flax/issues/4355
# verdict: correct
# why: split_rngs gives each member of the vmapped constructor a key of its own.
# needs: flax

# %% program
from flax import nnx


def program(key):
    rngs = nnx.Rngs(key)

    @nnx.split_rngs(splits=4)
    @nnx.vmap
    def build(rngs):
        return nnx.Linear(3, 2, rngs=rngs)

    return build(rngs).kernel[...]
