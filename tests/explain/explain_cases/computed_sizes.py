"""Cases of sizes computed from shapes or values, and of typed keys, weak types and narrow dtypes."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="one_hot_max",
        kind="size_from_values",
        variable="y.max() + 1",
        source="""
@jax.jit
def f(y):
    return jax.nn.one_hot(y, y.max() + 1)  # <--
result = f(jnp.array([0, 1, 2]))
""",
    ),
    Case(
        name="one_hot_named",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(y):
    n = y.max() + 1
    return jax.nn.one_hot(y, n)  # <--
result = f(jnp.array([0, 1, 2]))
""",
    ),
    Case(
        name="int_sqrt",
        kind="size_from_a_shape",
        variable="jnp.sqrt(n)",
        source="""
@jax.jit
def f(x):
    n = x.shape[0]
    side = int(jnp.sqrt(n))  # <--
    return x.reshape(side, side)
result = f(jnp.arange(9.0))
""",
        after_fix=[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]],
    ),
    Case(
        name="int_sqrt_arg",
        kind="number_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    side = int(jnp.sqrt(n))  # <--
    return x.reshape(side, side)
result = f(jnp.arange(9.0), 9)
""",
    ),
    Case(
        name="prod_shape",
        kind="size_from_a_shape",
        variable="jnp.array(x.shape).prod()",
        source="""
@jax.jit
def f(x):
    return x.reshape(jnp.array(x.shape).prod())  # <--
result = f(jnp.ones((2, 3)))
""",
        after_fix=[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]],
    ),
    Case(
        name="prod_shape_jnp",
        kind="size_from_a_shape",
        variable="jnp.prod(jnp.array(x.shape[1:]))",
        source="""
@jax.jit
def f(x):
    return x.reshape(x.shape[0], jnp.prod(jnp.array(x.shape[1:])))  # <--
result = f(jnp.ones((2, 3, 4)))
""",
        after_fix=[[[1.0] * 12] * 2],
    ),
    Case(
        name="prod_shape_named",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x):
    n = jnp.prod(jnp.array(x.shape[1:]))
    return x.reshape(-1, n)  # <--
result = f(jnp.ones((2, 3, 4)))
""",
        after_fix=[[[1.0] * 12] * 2],
    ),
    Case(
        name="float_linspace",
        kind="shape_of_floats",
        variable="10 / 2",
        source="""
result = jnp.linspace(0, 1, 10 / 2)  # <--
""",
        after_fix=[[0.0, 0.25, 0.5, 0.75, 1.0]],
    ),
    Case(
        name="shape_array",
        kind="shape_argument",
        variable="shape",
        source="""
@jax.jit
def f(x, shape):
    return x.reshape(shape)  # <--
result = f(jnp.arange(6), jnp.array([2, 3]))
""",
        after_fix=[[[0, 1, 2], [3, 4, 5]]],
    ),
    Case(
        name="shape_tuple",
        kind="shape_argument",
        variable="shape",
        source="""
@jax.jit
def f(x, shape):
    return x.reshape(shape)  # <--
result = f(jnp.arange(6), (2, 3))
""",
        after_fix=[[[0, 1, 2], [3, 4, 5]]],
    ),
    Case(
        name="zeros_shape_tuple",
        kind="shape_argument",
        variable="shape",
        source="""
@jax.jit
def f(shape):
    return jnp.zeros(shape)  # <--
result = f((2, 3))
""",
        after_fix=[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]],
    ),
    Case(
        name="slice_ij",
        kind="dynamic_slice",
        variable="i",
        source="""
@jax.jit
def f(x, i, n):
    return x[i:i + n]  # <--
result = f(jnp.arange(10), 2, 3)
""",
        after_fix=[no_code, [2, 3, 4]],
    ),
    Case(
        name="eye_traced",
        kind="size_from_values",
        variable="x.sum()",
        source="""
@jax.jit
def f(x):
    return jnp.eye(x.sum())  # <--
result = f(jnp.array([1, 2]))
""",
    ),
    Case(
        name="segment_sum_max",
        kind="size_from_values",
        variable="ids.max() + 1",
        source="""
@jax.jit
def f(x, ids):
    return jax.ops.segment_sum(x, ids, num_segments=ids.max() + 1)  # <--
result = f(jnp.ones(3), jnp.array([0, 1, 1]))
""",
    ),
    Case(
        name="where_sinc",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def sinc(x):
    return 1.0 if x == 0 else jnp.sin(x) / x  # <--
result = sinc(1.0)
""",
        after_fix=[0.84147, 0.84147],
    ),
    Case(
        name="np_tables",
        kind="numpy_index_of_tracer",
        variable="i",
        source="""
A = np.arange(4.0)
B = np.arange(4.0) * 2
@jax.jit
def look(i):
    return A[i] + B[i]  # <--
result = look(1)
""",
        after_fix=[no_code, 3.0],
    ),
    Case(
        name="mask_weak",
        kind="boolean_mask",
        variable="x",
        source="""
result = jax.jit(lambda x: x[x > 0].sum())(jnp.arange(10) - 3.0)  # <--
""",
        after_fix=[21.0],
    ),
    Case(
        name="mask_weak_named",
        kind="boolean_mask",
        variable="y",
        source="""
@jax.jit
def f(x):
    y = 2 * x
    return y[y > 1.0].mean()  # <--
result = f(3.0 * jnp.arange(4))
""",
        after_fix=[12.0],
    ),
    Case(
        name="key_if",
        kind="if_on_tracer",
        variable="key",
        source="""
@jax.jit
def accept(key):
    return 1. if jax.random.uniform(key) > .5 else 0.  # <--
result = accept(jax.random.key(0))
""",
        after_fix=[1.0, 1.0],
    ),
    Case(
        name="key_if_statement",
        kind="if_on_tracer",
        variable="key",
        source="""
@jax.jit
def accept(key, x):
    if jax.random.bernoulli(key):  # <--
        x = x + 1
    return x
result = accept(jax.random.key(0), 1.0)
""",
        after_fix=[1.0, 1.0],
    ),
    Case(
        name="key_float_again",
        kind="number_of_tracer",
        variable="key",
        source="""
@jax.jit
def f(key):
    return float(jax.random.uniform(key))  # <--
result = f(jax.random.key(0))
""",
        after_fix=[0.94767],
    ),
    Case(
        name="key_range",
        kind="range_of_tracer",
        variable="key",
        source="""
@jax.jit
def f(key, x):
    for i in range(jax.random.randint(key, (), 1, 5)):  # <--
        x = x + i
    return x
result = f(jax.random.key(0), 1.0)
""",
        after_fix=[2.0],
    ),
    Case(
        name="bf16_if",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if x > 0:  # <--
        return x
    return -x
result = f(jnp.bfloat16(1.0))
""",
        after_fix=[1.0, 1.0],
    ),
    Case(
        name="f8_float",
        kind="number_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return float(x)  # <--
result = f(jnp.array(1.0, jnp.float8_e4m3fn))
""",
        after_fix=[1.0],
    ),
    Case(
        name="int4_range",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n, x):
    for i in range(n):  # <--
        x = x + 1
    return x
result = f(jnp.array(3, jnp.int4), 1.0)
""",
        after_fix=[4.0, 4.0],
    ),
]
