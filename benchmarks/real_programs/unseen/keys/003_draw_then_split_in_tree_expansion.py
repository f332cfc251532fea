# url: https://github.com/blackjax-devs/blackjax/issues/53
# verdict: reuse
# wrong: `grow` splits the key that it was given and the caller splits the very same key afterwards, so the second tree starts with numbers of the first.
# shows: np.array_equal(out[0][1], out[1][0])
# mend: left = grow(key) ==> key, sub = jax.random.split(key); left = grow(sub)

# %% program
import jax


def grow(key):
    direction = jax.random.split(key, 2)[1]
    key, _ = jax.random.split(key)  # first
    return jax.random.normal(direction, (4,)), jax.random.normal(key, (4,))


def program(key):
    left = grow(key)
    key, _ = jax.random.split(key)  # second
    right = jax.random.normal(key, (4,)), None
    return left, right
