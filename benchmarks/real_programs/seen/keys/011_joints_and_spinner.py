# url: https://github.com/google-deepmind/mujoco_playground/pull/349
# verdict: reuse
# wrong: reset draws the joint positions and the spinner's angle with the same key, so the spinner always starts at the first joint's relative position.
# shows: np.allclose(out["qpos"][:, 0], out["spinner"] / 3.0)
# mend: rng, rng1 = jax.random.split(rng) ==> rng, rng1, rng2 = jax.random.split(rng, 3)
# mend: jax.random.uniform(rng1, (), minval=-3.0 ==> jax.random.uniform(rng2, (), minval=-3.0

# %% program
import jax


def reset(rng):
    rng, rng1 = jax.random.split(rng)
    qpos = jax.random.uniform(rng1, (2,), minval=-1.0, maxval=1.0)  # first
    spinner = jax.random.uniform(rng1, (), minval=-3.0, maxval=3.0)  # second
    return {"qpos": qpos, "spinner": spinner, "qvel": 0.01 * jax.random.normal(rng, (3,))}


def program(key):
    return jax.vmap(reset)(jax.random.split(key, 16))
