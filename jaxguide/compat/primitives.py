"""List JAX's primitives by kind; releases may add, rename or drop them (0.10.2 to 0.12.0.1)."""

# Primitives that only call the jaxpr in their parameters, with the same inputs and outputs.
CALLS = frozenset(
    {
        "jit",
        "pjit",  # `jit` in releases before the oldest supported one
        "closed_call",
        "core_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "custom_vmap_call",
        "checkpoint",
        "remat",
        "remat2",
    }
)

# Primitives that run the jaxprs in their parameters any number of times.
LOOPS = frozenset({"scan", "while", "cond"})

# What each primitive does with a PRNG key.
KEY_USES = {
    "random_bits": "draw",
    "random_gamma": "draw",
    "rng_bit_generator": "draw",
    "random_split": "split",
    "random_fold_in": "fold_in",
    "random_seed": "seed",
    "random_clone": "clone",
}

# Primitives that `jax.extend.core.primitives` does not list.
UNLISTED = frozenset(
    {
        *("debug_callback", "debug_print", "io_callback", "new_ref", "optimization_barrier", "pallas_call"),
        *("pure_callback", "random_unwrap", "random_wrap", "shard_map", "split", "tile"),
    }
)


def call_kind(primitive: str) -> str:
    """Return the user's name for the transformation behind a call primitive.

    >>> call_kind("pjit"), call_kind("remat2"), call_kind("custom_jvp_call")
    ('jit', 'checkpoint', 'custom_jvp')
    """
    return primitive.removesuffix("_call").replace("pjit", "jit").replace("remat2", "checkpoint")
