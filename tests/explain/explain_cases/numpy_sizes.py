"""Sizes that NumPy is given while they are traced, and shapes of floats."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="numpy_random_size",
        kind="numpy_size_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return (x + np.random.normal(size=n)).shape[0] * x  # <--
result = f(1.0, 3)
""",
        result="result",
        after_fix=[3.0, no_edits],
    ),
    Case(
        name="numpy_generator_size",
        kind="numpy_size_of_tracer",
        variable="n",
        source="""
rng = np.random.default_rng(0)
@jax.jit
def f(n):
    return rng.uniform(size=n)  # <--
result = f(3)
""",
        result="result.shape",
        after_fix=[(3,), no_edits],
    ),
    Case(
        name="numpy_zeros_size",
        kind="numpy_size_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n):
    return np.zeros(n) + 1.0  # <--
result = f(2)
""",
        result="result",
        after_fix=[[1.0, 1.0]],
    ),
    Case(
        name="random_shape_of_a_float",
        kind="shape_of_floats",
        variable="3.0",
        source="""
key = jax.random.key(0)
result = jax.random.normal(key, (3.0,))  # <--
""",
        result="result.shape",
        after_fix=[(3,)],
    ),
    Case(
        name="random_shape_of_a_quotient_under_jit",
        kind="shape_of_floats",
        variable="n / 2",
        source="""
n = 6
@jax.jit
def f(key):
    return jax.random.normal(key, (n / 2, 4))  # <--
result = f(jax.random.key(0))
""",
        result="result.shape",
        after_fix=[(3, 4)],
    ),
    Case(
        name="shape_with_a_name_of_floats",
        kind="shape_of_floats",
        variable="shape",
        source="""
shape = (2.0, 3)
result = jnp.ones(shape)  # <--
""",
        result="result.shape",
        after_fix=[(2, 3)],
    ),
    Case(
        name="size_of_a_float_name",
        kind="shape_of_floats",
        variable="n",
        source="""
n = 3.0
result = jnp.zeros(n)  # <--
""",
        result="result",
        after_fix=[[0.0, 0.0, 0.0]],
    ),
]
