# url: https://github.com/p-doom/jasmine/pull/239
# verdict: reuse
# wrong: The jitted step builds its own key from a constant, so each step hides the same patches.
# shows: np.array_equal(out[0], out[1])
# mend: k_prob, k_mask = jax.random.split(jax.random.key(0)) ==> k_prob, k_mask = jax.random.split(key)

# %% program
import jax


@jax.jit
def hide(video, key):
    k_prob, k_mask = jax.random.split(jax.random.key(0))
    prob = jax.random.uniform(k_prob, (), minval=0.3, maxval=0.7)
    return jax.random.bernoulli(k_mask, prob, video.shape)  # first # second


def program(key):
    k1, k2 = jax.random.split(key)
    video = jax.numpy.zeros((2, 50))
    return hide(video, k1), hide(video, k2)
