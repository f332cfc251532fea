# url: https://github.com/danijar/dreamerv3/issues/11
# verdict: reuse
# wrong: After handing out keys the buffer keeps the wrong part, namely those that it has just handed out.
# shows: np.array_equal(out[0], out[1])
# mend: self.buffer = self.buffer[:amount] ==> self.buffer = self.buffer[amount:]

# %% program
import jax


class Reserve:
    def __init__(self, key):
        self.buffer = jax.random.split(key, 16)

    def take(self, amount):
        taken = self.buffer[:amount]
        self.buffer = self.buffer[:amount]
        return taken


def program(key):
    reserve = Reserve(key)
    policy = jax.vmap(jax.random.normal)(reserve.take(4))  # first
    world = jax.vmap(jax.random.normal)(reserve.take(4))  # second
    return policy, world
