# url: https://github.com/aesara-devs/aesara/issues/1344
# verdict: reuse
# wrong: The op is called with the state's key and only afterwards the state is split; the op splits its key too, so the next op starts with a child that this one has drawn from.
# shows: np.array_equal(out[0], out[1])
# mend: values = op(rng["jax_state"]) ==> rng["jax_state"], sub = jax.random.split(rng["jax_state"]); values = op(sub)

# %% program
import jax


def uniform_disc(key):
    radius_key, angle_key = jax.random.split(key)  # first
    return jax.random.uniform(radius_key, (5,)), jax.random.uniform(angle_key, (5,))


def call(op, rng):
    values = op(rng["jax_state"])
    rng["jax_state"] = jax.random.split(rng["jax_state"])[0]  # second
    return values


def program(key):
    rng = {"jax_state": key}
    radius, _ = call(uniform_disc, rng)
    return radius, jax.random.uniform(rng["jax_state"], (5,))
