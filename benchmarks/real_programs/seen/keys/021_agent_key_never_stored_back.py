# url: https://github.com/araffin/sbx/issues/45
# verdict: reuse
# wrong: The jitted update returns the advanced key but train throws it away, thus every training call draws the same target noise.
# shows: np.array_equal(out[0], out[1]) and np.array_equal(out[1], out[2])
# mend: noise, _ = update(self.key) ==> noise, self.key = update(self.key)

# %% program
import jax


@jax.jit
def update(key):
    key, noise_key = jax.random.split(key)
    return jax.random.normal(noise_key, (10,)), key  # first # second


class Agent:
    def __init__(self, key):
        self.key = key

    def train(self):
        noise, _ = update(self.key)
        return noise


def program(key):
    agent = Agent(key)
    return [agent.train() for _ in range(3)]
