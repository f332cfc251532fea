# url: https://github.com/infer-actively/pymdp/issues/430
# verdict: reuse
# wrong: tree.map draws the action of every control factor with the same key, so the arm and the leg always act alike.
# shows: np.array_equal(out["arm"], out["leg"])
# mend: jax.tree.map(lambda p: draw(key, p), beliefs) ==> dict(zip(beliefs, map(draw, jax.random.split(key, 2), beliefs.values())))

# %% program
import jax
import jax.numpy as jnp


def draw(key, p):
    return jax.random.categorical(key, 4.0 * jnp.log(p), shape=(64,))  # first # second


def program(key):
    beliefs = {"arm": jnp.array([0.3, 0.3, 0.4]), "leg": jnp.array([0.3, 0.3, 0.4])}
    return jax.tree.map(lambda p: draw(key, p), beliefs)
