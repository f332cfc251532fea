"""Cases of what `jax.vmap` cannot map."""

from explain_cases.case import Case, no_code

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
        after_fix=[no_code, [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]],
    ),
    Case(
        name="vmap_size_of_keys",
        kind="vmap_sizes",
        variable="xs",
        source="""
def noisy(key, x):
    return x.shape[0] * jnp.ones(2)
keys = jax.random.split(jax.random.PRNGKey(0), 3)
xs = jnp.ones((4, 5))
result = jax.vmap(noisy)(keys, xs)  # <--
""",
        result="result.shape",
        after_fix=[no_code, [3, 2]],
    ),
    Case(
        name="vmap_size_of_the_odd_one_in_front",
        kind="vmap_sizes",
        variable="scale",
        source="""
scale, x, y = jnp.ones(4), jnp.ones(3), jnp.ones(3)
result = jax.vmap(lambda s, x, y: (s * x * y).sum())(scale, x, y)  # <--
""",
        after_fix=[no_code, [4.0, 4.0, 4.0]],
    ),
    Case(
        name="vmap_size_of_a_keyword",
        kind="vmap_keyword",
        variable="w",
        source="""
x = jnp.ones((5, 3))
result = jax.vmap(lambda x, y, w: (w * x * y).sum())(x, x, w=jnp.ones(3))  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="vmap_sizes_of_two_keywords",
        kind="vmap_keyword",
        variable="w",
        source="""
result = jax.vmap(lambda x, *, w: w * x)(x=jnp.ones(5), w=jnp.ones(3))  # <--
""",
        after_fix=[no_code, no_code],
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
        after_fix=[[1.0, 4.0]],
    ),
    Case(
        name="vmap_of_a_list_in_a_call",
        kind="vmap_of_a_list",
        variable="[1.0, 2.0]",
        source="""
result = jax.vmap(lambda a, b: a * b)(jnp.ones(2), [1.0, 2.0])  # <--
""",
        after_fix=[[1.0, 2.0]],
    ),
    Case(
        name="vmap_of_a_number_by_a_lambda",
        kind="vmap_axis",
        variable="3.0",
        source="""
result = jax.vmap(lambda v: v * 2)(3.0)  # <--
""",
        after_fix=[6.0],
    ),
    Case(
        name="vmap_axis_beyond_the_rank",
        kind="vmap_axis",
        variable="jnp.ones(2)",
        source="""
result = jax.vmap(lambda a, b: a + b, in_axes=(0, 1))(jnp.zeros(2), jnp.ones(2))  # <--
""",
    ),
]
