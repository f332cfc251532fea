# url: https://github.com/PennyLaneAI/pennylane/pull/5515
# verdict: reuse
# wrong: The key is split only at the lowest level; the device hands the same key to every circuit, so the shots of equal circuits are identical.
# shows: np.array_equal(out[0], out[1])
# mend: [sample_shots(key, c) for c in circuits] ==> [sample_shots(k, c) for k, c in zip(jax.random.split(key, len(circuits)), circuits)]

# %% program
import jax
import jax.numpy as jnp


def sample_shots(key, amplitudes):
    _, sub = jax.random.split(key)  # first # second
    return jax.random.choice(sub, 4, (50,), p=jnp.abs(amplitudes) ** 2)


def program(key):
    circuits = [jnp.full(4, 0.5), jnp.full(4, 0.5), jnp.array([1.0, 0.0, 0.0, 0.0])]
    return [sample_shots(key, c) for c in circuits]
