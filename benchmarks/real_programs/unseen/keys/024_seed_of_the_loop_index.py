# url: https://openillumi.com/en/en-jax-rngkey-iteration-best-practice
# verdict: reuse
# wrong: The steps' keys are built from the loop's index, and index 0 is the seed that the parameters were drawn with.
# shows: np.array_equal(out[0], out[1])
# mend: jax.random.key(0), (6,) ==> jax.random.key(1234), (6,)

# %% program
import jax


def program(key):
    params = jax.random.normal(jax.random.key(0), (6,))  # first
    noise = []
    for i in range(3):
        noise.append(jax.random.normal(jax.random.key(i), (6,)))  # second
    return params, *noise
