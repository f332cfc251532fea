# url: https://github.com/microsoft/TextWorld/issues/241
# verdict: correct
# why: next() changes the iterator inside the traced body and the changed iterator is what the carry returns.

# %% program
import jax
from jax import lax


@jax.tree_util.register_pytree_node_class
class Keys:
    def __init__(self, key):
        self.key = key

    def __next__(self):
        self.key, out = jax.random.split(self.key)
        return out

    def tree_flatten(self):
        return (self.key,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def program(key):
    def body(keys, _):
        a = jax.random.normal(next(keys))
        b = jax.random.normal(next(keys))
        return keys, (a, b)

    keys, out = lax.scan(body, Keys(key), None, length=5)
    return out, jax.random.normal(next(keys))
