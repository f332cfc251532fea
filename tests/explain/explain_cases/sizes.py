"""Cases of sizes that must be known while JAX traces, and of results whose size depends on values."""

from explain_cases.case import Case, no_edits

CASES = [
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
    ),
    Case(
        name="size_of_a_float_name",
        kind="shape_of_floats",
        variable="n",
        source="""
n = 3.0
result = jnp.zeros(n)  # <--
""",
        after_fix=[[0.0, 0.0, 0.0]],
    ),
    Case(
        name="random_size",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(key, n):
    return jax.random.normal(key, (n,))  # <--
result = f(jax.random.key(0), 4).shape
""",
        after_fix=[(4,)],
    ),
    Case(
        name="arange",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n):
    return jnp.arange(n).sum()  # <--
result = f(3)
""",
        after_fix=[3, no_edits],
    ),
    Case(
        name="zeros",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n):
    return jnp.zeros(n)  # <--
result = f(3)
""",
        after_fix=[[0.0, 0.0, 0.0], no_edits],
    ),
    Case(
        name="reshape",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x.reshape(n, -1)  # <--
result = f(jnp.ones(6), 3)
""",
        after_fix=[[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]],
    ),
    Case(
        name="linspace",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n):
    return jnp.linspace(0, 1, n)  # <--
result = f(3)
""",
        after_fix=[[0.0, 0.5, 1.0], no_edits],
    ),
    Case(
        name="eye",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n):
    return jnp.eye(n)  # <--
result = f(3)
""",
        after_fix=[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]],
    ),
    Case(
        name="random_shape",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(key, n):
    return jax.random.normal(key, (n,))  # <--
result = f(jax.random.key(0), 3)
""",
        result="result.shape",
        after_fix=[(3,)],
    ),
    Case(
        name="split_n",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(key, n):
    return jax.random.split(key, n)  # <--
result = f(jax.random.key(0), 3)
""",
        result="result.shape",
        after_fix=[(3,)],
    ),
    Case(
        name="scan_dynlen",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return lax.scan(lambda c, _: (c * 2, None), x, None, length=n)  # <--
result = f(1.0, 3)
""",
        after_fix=[(8.0, None)],
    ),
    Case(
        name="repeat",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jnp.repeat(x, n)  # <--
result = f(jnp.arange(3), 2)
""",
        after_fix=[[0, 0, 1, 1, 2, 2], no_edits],
    ),
    Case(
        name="slice_dyn_sizes",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, i, n):
    return lax.dynamic_slice(x, (i,), (n,))  # <--
result = f(jnp.ones(5), 1, 2)
""",
        after_fix=[[1.0, 1.0]],
    ),
    Case(
        name="dynamic_jnp_split",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jnp.split(x, n)  # <--
result = f(jnp.ones(6), 2)
""",
        after_fix=[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]],
    ),
    Case(
        name="axis_dyn",
        kind="axis_of_tracer",
        variable="axis",
        source="""
@jax.jit
def f(x, axis):
    return jnp.sum(x, axis=axis)  # <--
result = f(jnp.ones((2, 3)), 0)
""",
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="tile_dyn",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jnp.tile(x, n)  # <--
result = f(jnp.ones(3), 2)
""",
        after_fix=[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]],
    ),
    Case(
        name="onehot_dyn",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jax.nn.one_hot(x, n)  # <--
result = f(jnp.arange(3), 3)
""",
        after_fix=[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]],
    ),
    Case(
        name="shape_prod",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x):
    n = jnp.prod(jnp.array(x.shape))
    return x.reshape(n)  # <--
result = f(jnp.ones((2, 3)))
""",
        after_fix=[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]],
    ),
    Case(
        name="partial_static",
        kind="shape_of_tracer",
        variable="n",
        source="""
@partial(jax.jit, static_argnames="scale")
def f(x, n, scale):
    return jnp.ones(n) * x * scale  # <--
result = f(2.0, 3, scale=2)
""",
        after_fix=[[4.0, 4.0, 4.0], no_edits],
    ),
    Case(
        name="jit_call_form",
        kind="shape_of_tracer",
        variable="n",
        source="""
def g(n):
    return jnp.zeros(n).size  # <--
g_fast = jax.jit(g)
result = g_fast(4)
""",
        after_fix=[4, no_edits],
    ),
    Case(
        name="static_of_array",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n):
    return jnp.ones(n)  # <--
result = f(jnp.int32(3))
""",
        after_fix=[[1.0, 1.0, 1.0], no_edits],
    ),
    Case(
        name="lambda_jit",
        kind="shape_of_tracer",
        variable="n",
        source="""
f = jax.jit(lambda x, n: x + jnp.arange(n))  # <--
result = f(1.0, 3)
""",
        after_fix=[[1.0, 2.0, 3.0], no_edits],
    ),
    Case(
        name="two_sizes",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n, m):
    return jnp.zeros((n, m)).shape[1] * 1.0  # <--
result = f(2, 3)
""",
        after_fix=[3.0, no_edits],
    ),
    Case(
        name="nonzero",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.nonzero(x)[0]  # <--
result = f(jnp.array([0, 5, 7]))
""",
        after_fix=[[1, 2, 0], no_edits],
    ),
    Case(
        name="unique",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.unique(x)  # <--
result = f(jnp.array([3, 1, 3]))
""",
        after_fix=[[1, 3, 0]],
    ),
    Case(
        name="where",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.where(x > 0)[0]  # <--
result = f(jnp.array([-1, 5, 7]))
""",
        after_fix=[[1, 2, 0], no_edits],
    ),
    Case(
        name="unique_jitted_itself",
        kind="size_of_result",
        variable="x",
        source="""
x = jnp.array([3, 1, 3])
result = jax.jit(jnp.unique)(x)  # <--
""",
        after_fix=[[1, 3, 0]],
    ),
    Case(
        name="unique_mapped_under_a_name",
        kind="size_of_result",
        variable="x",
        source="""
x = jnp.array([[3, 1, 3], [1, 2, 2]])
unique_rows = jax.vmap(jnp.unique)
result = unique_rows(x)  # <--
""",
        after_fix=[[[1, 3, 0], [1, 2, 0]]],
    ),
    Case(
        name="unique_of_an_expression",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.unique(x[0] * 2)  # <--
result = f(jnp.array([[3, 1, 3]]))
""",
        after_fix=[[2, 6, 0]],
    ),
]
