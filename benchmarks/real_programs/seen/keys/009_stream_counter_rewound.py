# url: https://github.com/google/flax/pull/5529
# verdict: reuse
# wrong: The new container keeps the base key of the stream but starts its counter at 0 again, so it hands out keys that the old one already handed out.
# shows: np.array_equal(out[0], out[1])
# mend: Stream(self.base, 0) ==> Stream(self.base, self.count)

# %% program
import dataclasses

import jax


@dataclasses.dataclass
class Stream:
    base: jax.Array
    count: int

    def __call__(self):
        self.count += 1
        return jax.random.fold_in(self.base, self.count)

    def passed_on(self):
        return Stream(self.base, 0)


def program(key):
    dropout = Stream(key, 0)
    before = jax.random.bernoulli(dropout(), 0.5, (40,))  # first
    after = jax.random.bernoulli(dropout.passed_on()(), 0.5, (40,))  # second
    return before, after
