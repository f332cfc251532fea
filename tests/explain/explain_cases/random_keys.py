"""Cases of values that are not PRNG keys."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="key_int",
        kind="seed_for_key",
        variable="0",
        source="""
result = jax.random.normal(0, (3,))  # <--
""",
        result="result.shape",
        after_fix=[(3,)],
    ),
    Case(
        name="key_int_split",
        kind="seed_for_key",
        variable="key",
        source="""
key = 42
k1, k2 = jax.random.split(key)  # <--
""",
        result="k1.shape",
        after_fix=[(), no_edits],
    ),
    Case(
        name="key_float",
        kind="no_key",
        variable="key",
        source="""
key = jnp.ones(2)
result = jax.random.normal(key)  # <--
""",
        result="result.shape",
        after_fix=[(), no_edits],
    ),
    Case(
        name="key_uint_shape",
        kind="no_key",
        variable="key",
        source="""
key = jnp.zeros(3, jnp.uint32)
result = jax.random.normal(key)  # <--
""",
        result="result.shape",
        after_fix=[(), no_edits],
    ),
    Case(
        name="key_batched",
        kind="several_keys",
        variable="keys",
        source="""
keys = jax.random.split(jax.random.key(0), 3)
result = jax.random.normal(keys)  # <--
""",
        result="result.shape",
        after_fix=[(3,), ()],
    ),
    Case(
        name="key_arith",
        kind="key_arithmetic",
        variable="key",
        source="""
key = jax.random.key(0)
result = key + 1  # <--
""",
        result="jax.random.key_data(result).shape",
        after_fix=[no_edits, no_edits],
    ),
    Case(
        name="key_arith_jnp",
        kind="key_arithmetic",
        variable="key",
        source="""
key = jax.random.key(0)
result = jnp.add(key, 1)  # <--
""",
        result="jax.random.key_data(result).shape",
        after_fix=[no_edits, no_edits],
    ),
    Case(
        name="key_seed_float",
        kind="wrong_seed",
        variable="0.5",
        source="""
result = jax.random.key(0.5)  # <--
""",
        result="jax.random.key_data(result).shape",
        after_fix=[(2,)],
    ),
    Case(
        name="key_seed_key",
        kind="wrong_seed",
        variable="key",
        source="""
key = jax.random.key(0)
result = jax.random.key(key)  # <--
""",
        result="jax.random.key_data(result).shape",
        after_fix=[(2,)],
    ),
    Case(
        name="key_seed_arr",
        kind="wrong_seed",
        variable="jnp.arange(3)",
        source="""
result = jax.random.key(jnp.arange(3))  # <--
""",
        result="jax.random.key_data(result).shape",
        after_fix=[(3, 2)],
    ),
    Case(
        name="key_none",
        kind="no_key",
        variable="None",
        source="""
result = jax.random.normal(None, (3,))  # <--
""",
        result="result.shape",
        after_fix=[(3,)],
    ),
    Case(
        name="key_missing",
        kind="key_forgotten",
        variable="(3,)",
        source="""
result = jax.random.normal((3,))  # <--
""",
        result="result.shape",
        after_fix=[(3,)],
    ),
    Case(
        name="key_nparray",
        kind="key_to_numpy",
        variable="key",
        source="""
key = jax.random.key(0)
result = np.asarray(key)  # <--
""",
        result="result",
        after_fix=[[0, 0]],
    ),
    Case(
        name="jnp_random",
        kind="random_of_numpy",
        variable="jnp.random",
        source="""
result = jnp.random.normal(size=(2, 3))  # <--
""",
    ),
    Case(
        name="key_made_and_added_to",
        kind="key_arithmetic",
        variable="jax.random.key(0)",
        source="""
result = jax.random.normal(jax.random.key(0) + 1, (3,)).shape  # <--
""",
        result="result",
        after_fix=[no_edits, no_edits],
    ),
    Case(
        name="key_of_a_list_added_to",
        kind="key_arithmetic",
        variable="keys[0]",
        source="""
keys = jax.random.split(jax.random.key(0), 2)
result = jax.random.normal(keys[0] + 1, (3,)).shape  # <--
""",
        result="result",
        after_fix=[no_edits, no_edits],
    ),
    Case(
        name="next_of_a_key_stream",
        kind="next_of_key_stream",
        variable="stream",
        source="""
from jaxguide.keys import KeyStream
stream = KeyStream(0)
result = jax.random.normal(next(stream), (2,)).shape  # <--
""",
        result="result",
        after_fix=[(2,)],
    ),
    Case(
        name="key_numpy_seed",
        kind="seed_for_key",
        variable="seed",
        source="""
seed = np.int64(3)
result = jax.random.normal(seed, (2,))  # <--
""",
        result="result.shape",
        after_fix=[(2,), no_edits],
    ),
    Case(
        name="key_of_a_raw_key",
        kind="wrong_seed",
        variable="key",
        source="""
key = jax.random.PRNGKey(0)
result = jax.random.normal(jax.random.key(key))  # <--
""",
        result="result.shape",
        after_fix=[()],
    ),
    Case(
        name="keys_split_into_names",
        kind="several_keys",
        variable="keys",
        source="""
keys = jax.random.split(jax.random.key(0), 4)
a, b = jax.random.split(keys)  # <--
""",
        result="a.shape",
        after_fix=[()],
    ),
    Case(
        name="key_among_what_is_saved",
        kind="key_to_numpy",
        variable="state['key']",
        source="""
import io
state = {"w": jnp.ones(3), "key": jax.random.key(0)}
np.savez(io.BytesIO(), **state)  # <--
""",
        result="1",
    ),
    Case(
        name="key_typed_and_raw",
        kind="typed_and_raw_keys",
        variable="typed",
        source="""
typed, raw = jax.random.key(0), jax.random.PRNGKey(1)
jnp.stack([typed, raw])  # <--
""",
        result="1",
    ),
    Case(
        name="sample_larger_than_population",
        kind="sample_too_large",
        variable="(6,)",
        source="""
batch = jax.random.choice(jax.random.key(0), 5, (6,), replace=False)  # <--
""",
        result="batch.shape",
        after_fix=[(6,), (5,)],
    ),
]
