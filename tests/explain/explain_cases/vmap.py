"""Cases of what `jax.vmap` cannot map."""

from explain_cases.case import Case

CASES = [
    Case(
        name="vmap_size",
        kind="vmap_sizes",
        variable="jnp.ones(3)",
        source="""
def f(a, b):
    return a * b
result = jax.vmap(f)(jnp.ones(2), jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]],
    ),
    Case(
        name="vmap_axis",
        kind="vmap_axis",
        variable="jnp.ones((3, 4))",
        source="""
def f(a):
    return a.sum()
result = jax.vmap(f, in_axes=2)(jnp.ones((3, 4)))  # <--
""",
        result="result",
        after_fix=[[4.0, 4.0, 4.0]],
    ),
    Case(
        name="vmap_scalar",
        kind="vmap_axis",
        variable="2.0",
        source="""
def f(a, b):
    return a * b
result = jax.vmap(f)(jnp.ones(3), 2.0)  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="vmap_struct",
        kind="vmap_in_axes",
        variable="in_axes",
        source="""
def f(a, b):
    return a * b
result = jax.vmap(f, in_axes=(0, None, 0))(jnp.ones(3), 2.0)  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="vmap_struct_tree",
        kind="vmap_axes_of_a_tree",
        variable="in_axes",
        source="""
def f(p, x):
    return p['w'] * x
result = jax.vmap(f, in_axes=({'v': 0}, 0))({'w': jnp.ones(3)}, jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="vmap_allnone",
        kind="vmap_nothing",
        variable="in_axes",
        source="""
def f(a):
    return a
result = jax.vmap(f, in_axes=None)(jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="vmap_outnone",
        kind="vmap_out_axes",
        variable="out_axes",
        source="""
def f(a):
    return a
result = jax.vmap(f, out_axes=None)(jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="psum_axis_vmap",
        kind="axis_name",
        variable="batch",
        source="""
def f(x):
    return x - lax.pmean(x, 'batch')  # <--
result = jax.vmap(f)(jnp.ones(3))
""",
        result="result",
        after_fix=[[0.0, 0.0, 0.0]],
    ),
    Case(
        name="vmap_one_axis_for_a_number_too",
        kind="vmap_in_axes",
        variable="in_axes",
        source="""
def f(x, y):
    return x * y
result = jax.vmap(f, in_axes=(0,))(jnp.ones(3), 2.0)  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="vmap_one_axis_for_parameters_too",
        kind="vmap_in_axes",
        variable="in_axes",
        source="""
def f(x, y, w):
    return x * y @ w["w"]
xs, ys, weights = jnp.ones((3, 2)), jnp.ones(3), {"w": jnp.ones(2)}
result = jax.vmap(f, in_axes=(0,))(xs, ys, weights)  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="vmap_of_a_list",
        kind="vmap_of_a_list",
        variable="xs",
        source="""
def square(v): return v * v
xs = [1.0, 2.0]
result = jax.vmap(square)(xs)  # <--
""",
        result="result",
        after_fix=[[1.0, 4.0]],
    ),
    Case(
        name="vmap_of_a_list_in_a_call",
        kind="vmap_of_a_list",
        variable="[1.0, 2.0]",
        source="""
result = jax.vmap(lambda a, b: a * b)(jnp.ones(2), [1.0, 2.0])  # <--
""",
        result="result",
        after_fix=[[1.0, 2.0]],
    ),
    Case(
        name="vmap_of_a_number_by_a_lambda",
        kind="vmap_axis",
        variable="3.0",
        source="""
result = jax.vmap(lambda v: v * 2)(3.0)  # <--
""",
        result="result",
        after_fix=[6.0],
    ),
    Case(
        name="vmap_axis_beyond_the_rank",
        kind="vmap_axis",
        variable="jnp.ones(2)",
        source="""
result = jax.vmap(lambda a, b: a + b, in_axes=(0, 1))(jnp.zeros(2), jnp.ones(2))  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0]],
    ),
]
