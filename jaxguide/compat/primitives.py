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
SCAN, WHILE, COND = "scan", "while", "cond"
LOOPS = frozenset({SCAN, WHILE, COND})

# Primitives that call back to the host.
PURE_CALLBACK, IO_CALLBACK = "pure_callback", "io_callback"
DEBUG_CALLBACK, DEBUG_PRINT = "debug_callback", "debug_print"

MATMUL = "dot_general"
LINEAR_SOLVE = "custom_linear_solve"
# Those of a `jax.Ref`; all but the first get it as their first input, and what they write as the second.
NEW_REF, GET, SWAP, ADD_UPDATE, FREEZE = "new_ref", "get", "swap", "addupdate", "freeze"

EQUAL, SELECT, STOP_GRADIENT = "eq", "select_n", "stop_gradient"
BROADCAST_IN_DIM, CONVERT = "broadcast_in_dim", "convert_element_type"

# Primitives that only move, repeat or convert elements.
MOVES = frozenset({BROADCAST_IN_DIM, CONVERT, "reshape", "squeeze", "expand_dims", "copy"})

# Primitives whose result has at each place only what their operands have at the same place.
ELEMENTWISE = frozenset(
    {
        *("add", "sub", "mul", "div", "rem", "neg", "sign", "max", "min", "pow", "integer_pow", "square", "add_any"),
        *("one_minus_square", "sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "logistic", "tanh"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "abs"),
        *("erf", "erfc", "erf_inv", "lgamma", "digamma", "igamma", "igammac", "polygamma", "zeta", "real", "imag"),
        *("round", "floor", "ceil", "nextafter", "log2", "bessel_i0e", "bessel_i1e", "regularized_incomplete_beta"),
    }
)

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


def call_kind(primitive: str) -> str:
    """Return the user's name for the transformation behind a call primitive.

    >>> call_kind("pjit"), call_kind("remat2"), call_kind("custom_jvp_call")
    ('jit', 'checkpoint', 'custom_jvp')
    """
    return primitive.removesuffix("_call").replace("pjit", "jit").replace("remat2", "checkpoint")
