# url: https://github.com/dunnolab/xland-minigrid/issues/42
# verdict: reuse
# wrong: Both batches of environment keys are split from `rng`, the two keys meant for them stay unused, so rules and resets are correlated.
# shows: np.array_equal(out[0], out[1])
# mend: jax.random.split(rng, 8)  # first ==> jax.random.split(rules_rng, 8)
# mend: jax.random.split(rng, 8)  # second ==> jax.random.split(start_rng, 8)

# %% program
import jax


def program(rng):
    rng, rules_rng, start_rng = jax.random.split(rng, 3)
    per_env_rules = jax.random.split(rng, 8)  # first
    per_env_start = jax.random.split(rng, 8)  # second
    rules = jax.vmap(lambda k: jax.random.randint(k, (5,), 0, 100))(per_env_rules)
    starts = jax.vmap(lambda k: jax.random.randint(k, (5,), 0, 100))(per_env_start)
    return rules, starts
