"""Cases of `jax.vmap` over trees and lists, and of `in_axes` and `out_axes` that do not fit."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="vmap_list_dicts",
        kind="vmap_of_records",
        variable="points",
        source="""
points = [{"x": 1.0, "y": 2.0}, {"x": 3.0, "y": 4.0}]
result = jax.vmap(lambda p: p["x"] + p["y"])(points)  # <--
""",
        after_fix=[[3.0, 7.0]],
    ),
    Case(
        name="vmap_list_dicts_second",
        kind="vmap_of_records",
        variable="ensemble",
        source="""
def line(x, params):
    return params["a"] * x + params["b"]
ensemble = [{"a": 3.0, "b": 4.0}, {"a": 1.0, "b": 0.0}]
result = jax.vmap(line)(jnp.array([2.0, 2.0]), ensemble)  # <--
""",
        after_fix=[[10.0, 2.0]],
    ),
    Case(
        name="vmap_list_dicts_arrays",
        kind="vmap_of_records",
        variable="models",
        source="""
def apply(p, x):
    return p["w"] @ x + p["b"]
models = [{"w": jnp.ones((2, 3)), "b": jnp.zeros(2)} for _ in range(4)]
result = jax.vmap(apply, in_axes=(0, None))(models, jnp.ones(3))  # <--
""",
        after_fix=[[[3.0, 3.0], [3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]],
    ),
    Case(
        name="vmap_scalar_in_dict",
        kind="vmap_axis",
        variable="params['lr']",
        source="""
params = {"w": jnp.ones((5, 3)), "lr": 0.1}
result = jax.vmap(lambda p: p["w"].sum() * p["lr"])(params)  # <--
""",
    ),
    Case(
        name="vmap_shared_dict",
        kind="vmap_sizes",
        variable="params",
        source="""
params = {"w": jnp.ones((4, 3)), "b": jnp.zeros(4)}
xs = jnp.ones((10, 3))
result = jax.vmap(lambda p, x: p["w"] @ x + p["b"])(params, xs)  # <--
""",
        after_fix=[no_code, [[3.0] * 4] * 10],
    ),
    Case(
        name="vmap_three_args_sizes",
        kind="vmap_sizes",
        variable="jnp.ones(4)",
        source="""
result = jax.vmap(lambda a, b, c: a + b + c)(jnp.ones(3), jnp.ones(3), jnp.ones(4))  # <--
""",
        after_fix=[no_code, [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]],
    ),
    Case(
        name="vmap_sizes_positional_decorator",
        kind="vmap_sizes",
        variable="b",
        source="""
@jax.vmap
def dot(a, b):
    return a @ b
result = dot(jnp.ones((3, 2)), jnp.ones((4, 2)))  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="vmap_string",
        kind="mapped_no_array",
        variable='"a"',
        source="""
result = jax.vmap(lambda x, mode: x * 2 if mode == "a" else x)(jnp.ones(3), "a")  # <--
""",
    ),
    Case(
        name="vmap_kwargs",
        kind="vmap_keyword",
        variable="scale",
        source="""
result = jax.vmap(lambda x, scale: x * scale)(jnp.ones(3), scale=2.0)  # <--
""",
    ),
    Case(
        name="vmap_dict_out_axes",
        kind="vmap_out_axes",
        variable="out_axes",
        source="""
result = jax.vmap(lambda x: {"a": x, "b": x}, out_axes={"a": 0})(jnp.ones(3))  # <--
""",
    ),
    Case(
        name="vmap_out_axes_tuple_single",
        kind="vmap_out_axes",
        variable="out_axes",
        source="""
result = jax.vmap(lambda x: x * 2, out_axes=(0,))(jnp.ones(3))  # <--
""",
    ),
    Case(
        name="vmap_out_axes",
        kind="vmap_out_axes",
        variable="out_axes",
        source="""
result = jax.vmap(lambda x: (x, x * 2), out_axes=(0, 1, 0))(jnp.ones(3))  # <--
""",
    ),
    Case(
        name="vmap_two_in_axes_one_arg_tuple",
        kind="vmap_in_axes",
        variable="in_axes",
        source="""
def f(pair):
    a, b = pair
    return a * b
result = jax.vmap(f, in_axes=(0, None))((jnp.ones(3), 2.0))  # <--
""",
    ),
    Case(
        name="vmap_in_axes_dict_keys",
        kind="vmap_axes_of_a_tree",
        variable="in_axes",
        source="""
params = {"w": jnp.ones((5, 3)), "b": jnp.zeros(3)}
result = jax.vmap(lambda p, x: p["w"] @ x + p["b"][0], in_axes=({"w": 0}, None))(params, jnp.ones(3))  # <--
""",
    ),
    Case(
        name="vmap_in_axes_dict_value",
        kind="vmap_in_axes",
        variable="in_axes",
        source="""
params = {"w": jnp.ones((5, 3)), "b": jnp.zeros(3)}
result = jax.vmap(lambda p: p["w"] @ p["b"], in_axes={"w": 0, "b": None})(params)  # <--
""",
        after_fix=[[0.0, 0.0, 0.0, 0.0, 0.0]],
    ),
    Case(
        name="vmap_in_axes_kw",
        kind="vmap_in_axes",
        variable="in_axes",
        source="""
f = jax.vmap(lambda x, scale: x * scale, in_axes=(0, None))
result = f(jnp.ones(3), scale=2.0)  # <--
""",
    ),
    Case(
        name="vmap_sizes_tree",
        kind="vmap_sizes",
        variable="params['w']",
        source="""
params = {"w": jnp.ones((5, 3)), "b": jnp.zeros((4, 3))}
result = jax.vmap(lambda p: p["w"] + p["b"])(params)  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="psum_unbound_jit",
        kind="axis_name",
        variable="devices",
        source="""
@jax.jit
def step(g):
    return jax.lax.pmean(g, "devices")  # <--
result = step(jnp.ones(3))
""",
    ),
]
