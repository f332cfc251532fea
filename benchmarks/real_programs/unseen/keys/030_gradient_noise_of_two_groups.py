# url: https://github.com/google-deepmind/optax/pull/1167
# verdict: reuse
# wrong: The noise transformations of the two parameter groups are built with the same key, so both groups get the same noise.
# needs: optax
# shows: np.array_equal(out["head"], out["body"])
# mend: "body": optax.add_noise(0.1, 0.5, key) ==> "body": optax.add_noise(0.1, 0.5, jax.random.fold_in(key, 1))
# mend: "head": optax.add_noise(0.1, 0.5, key) ==> "head": optax.add_noise(0.1, 0.5, jax.random.fold_in(key, 2))

# %% program
import jax
import jax.numpy as jnp
import optax


def program(key):
    params = {"body": jnp.zeros(5), "head": jnp.zeros(5)}
    tx = optax.multi_transform(
        {
            "body": optax.add_noise(0.1, 0.5, key),  # first
            "head": optax.add_noise(0.1, 0.5, key),  # second
        },
        {"body": "body", "head": "head"},
    )
    return tx.update(params, tx.init(params))[0]
