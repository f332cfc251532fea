"""Failing programs for several devices, which `test_explain_on_several_devices.py` runs, explains and fixes."""

from explain_cases.case import Case, no_code

HEAD = """
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("x",))
"""
_EXPLICIT = """
jax.set_mesh(jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,)))
"""


def _case(
    name: str, kind: str, variable: str | None, source: str, after_fix: list[object], result: str = "result"
) -> Case:
    return Case(name, kind, variable, HEAD + source, result, after_fix)  # type: ignore[arg-type]


CASES = [
    _case(
        "scan_carry_varies",
        "carry_varies",
        "c",
        """
def f(xs):
    c, _ = lax.scan(lambda c, x: (c + x, None), 0.0, xs)  # <--
    return c[None]
result = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.arange(8.0))
""",
        [[1.0, 5.0, 9.0, 13.0]],
    ),
    _case(
        "part_of_a_carry_varies",
        "carry_varies",
        "c['total']",
        """
def f(xs):
    def body(c, x):
        return {"total": c["total"] + x, "n": c["n"] + 1}, None
    c, _ = lax.scan(body, {"total": jnp.zeros(()), "n": 0}, xs)  # <--
    return c["total"][None]
result = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.arange(8.0))
""",
        [[1.0, 5.0, 9.0, 13.0]],
    ),
    _case(
        "part_of_a_named_carry_varies",
        "carry_varies",
        "a[0]",
        """
def f(x):
    start = (jnp.zeros(2), 0)
    return lax.fori_loop(0, 3, lambda i, a: (a[0] + x, a[1] + 1), start)[0]  # <--
result = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.arange(8.0))
""",
        [no_code],
    ),
    _case(
        "psum_over_a_name_that_the_mesh_lacks",
        "axis_name",
        "batch",
        """
def f(a):
    return lax.psum(a.sum(), "batch")  # <--
result = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P()))(jnp.arange(8.0))
""",
        [28.0],
    ),
    _case(
        "axis_index_of_a_name_that_the_mesh_lacks",
        "axis_name",
        "i",
        """
@jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))
def f(a):
    return a + lax.axis_index("i")  # <--
result = f(jnp.zeros(4))
""",
        [[0.0, 1.0, 2.0, 3.0]],
    ),
    _case(
        "pmap_with_another_name",
        "axis_name",
        "batch",
        """
f = jax.pmap(lambda a: lax.pmean(a, "batch"), axis_name="devices")  # <--
result = f(jnp.arange(4.0))
""",
        [[1.5] * 4],
    ),
    _case(
        "one_argument_too_few",
        "shard_map_specs",
        "in_specs",
        """
add = jax.shard_map(lambda field, forcing: field + forcing, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=P("x"))
result = add(jnp.arange(8.0))  # <--
""",
        [no_code],
    ),
    _case(
        "a_name_for_a_spec",
        "shard_map_specs",
        "in_specs",
        """
result = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=("x",), out_specs=P("x"))(jnp.ones(4))  # <--
""",
        [no_code],
    ),
    _case(
        "specs_with_other_keys",
        "shard_map_specs",
        "in_specs",
        """
f = jax.shard_map(lambda p: p["w"], mesh=mesh, in_specs=({"w": P("x"), "c": P()},), out_specs=P("x"))
params = {"w": jnp.ones(4), "b": jnp.ones(())}
result = f(params)  # <--
""",
        [no_code],
    ),
    _case(
        "a_spec_with_a_name_for_a_scalar",
        "spec_too_long",
        "0.1",
        """
def advance(*args):
    u, dt = args
    return u - dt * u
step = jax.shard_map(advance, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=P("x"))
result = step(jnp.ones(4), 0.1)  # <--
""",
        [[0.9] * 4],
    ),
    _case(
        "a_scalar_result_that_is_split",
        "spec_too_long",
        "a.sum()",
        """
f = jax.shard_map(lambda a: a.sum(), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
result = f(jnp.arange(8.0))  # <--
""",
        [no_code],
    ),
    _case(
        "an_argument_that_cannot_be_split",
        "not_divisible",
        "data",
        """
data = jnp.arange(10.0)
f = jax.shard_map(lambda a: a, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
result = f(data)  # <--
""",
        [no_code, no_code],
    ),
    _case(
        "a_sum_that_is_said_to_be_the_same",
        "not_replicated",
        "a.sum()",
        """
def f(a):
    return a.sum()
result = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P())(jnp.arange(8.0))  # <--
""",
        [28.0, no_code],
    ),
    _case(
        "a_sum_along_an_axis_whose_name_has_a_dash",
        "not_replicated",
        "a.sum()",
        """
f = jax.shard_map(lambda a: a.sum(), mesh=Mesh(np.array(jax.devices()), ("dp-1",)), in_specs=P("dp-1"), out_specs=P())
result = f(jnp.arange(8.0))  # <--
""",
        [28.0, no_code],
    ),
    _case(
        "a_mean_that_is_said_to_be_the_same_along_two_axes",
        "not_replicated",
        "jnp.mean(a)",
        """
grid = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
f = jax.shard_map(lambda a: jnp.mean(a), mesh=grid, in_specs=P("x", "y"), out_specs=P())
result = f(jnp.arange(16.0).reshape(4, 4))  # <--
""",
        [7.5, no_code],
    ),
    _case(
        "what_is_gathered_is_said_to_be_the_same",
        "not_replicated",
        'lax.all_gather(a, "x", tiled=True)',
        """
f = jax.shard_map(lambda a: lax.all_gather(a, "x", tiled=True), mesh=mesh, in_specs=P("x"), out_specs=P())
result = f(jnp.arange(4.0))  # <--
""",
        [no_code, no_code],
    ),
    _case(
        "device_put_of_what_cannot_be_split",
        "not_divisible",
        "data",
        """
data = jnp.arange(10.0)
result = jax.device_put(data, NamedSharding(mesh, P("x")))  # <--
""",
        [no_code, no_code],
    ),
    _case(
        "device_put_of_a_number",
        "spec_too_long",
        "1.0",
        """
result = jax.device_put(1.0, NamedSharding(mesh, P("x")))  # <--
""",
        [no_code],
    ),
    _case(
        "too_few_in_shardings",
        "shard_map_specs",
        "in_shardings",
        """
result = jax.jit(lambda a, b: a, in_shardings=(NamedSharding(mesh, P("x")),))(jnp.ones(4), 1.0)  # <--
""",
        [no_code],
    ),
    _case(
        "two_devices",
        "devices_differ",
        "b",
        """
a = jax.device_put(jnp.ones(4), jax.devices()[0])
b = jax.device_put(jnp.ones(4), jax.devices()[1])
result = a + b  # <--
""",
        [[2.0] * 4],
    ),
    _case(
        "an_array_that_was_put_nowhere_beside_two_devices",
        "devices_differ",
        "b",
        """
a, b = jax.device_put(jnp.ones(4), jax.devices()[1]), jax.device_put(jnp.ones(4), jax.devices()[0])
result = jax.jit(lambda c, a, b: c + a + b)(jnp.ones(4), a, b)  # <--
""",
        [[3.0] * 4],
    ),
    _case(
        "two_meshes_in_a_jitted_function",
        "devices_differ",
        "w",
        """
first = NamedSharding(Mesh(np.array(jax.devices()[:2]), ("x",)), P("x"))
last = NamedSharding(Mesh(np.array(jax.devices()[2:]), ("x",)), P("x"))
w, batch = jax.device_put(jnp.ones((4, 2)), first), jax.device_put(jnp.ones((6, 4)), last)
result = jax.jit(jnp.dot)(batch, w)  # <--
""",
        [(6, 2)],
        "result.shape",
    ),
    _case(
        "a_part_on_another_device",
        "devices_differ",
        "batch",
        """
params = {"w": jax.device_put(jnp.ones(4), jax.devices()[0])}
batch = jax.device_put(jnp.ones(4), jax.devices()[1])
@jax.jit
def loss(p, data):
    return (p["w"] * data).sum()
result = loss(params, batch)  # <--
""",
        [4.0],
    ),
    _case(
        "parameters_without_an_axis_of_devices",
        "pmap_axis",
        "params['b']",
        """
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
batch = jnp.ones((4, 5, 3))
result = jax.pmap(lambda p, x: (x @ p["w"] + p["b"]).sum())(params, batch)  # <--
""",
        [[30.0] * 4, no_code],
    ),
    _case(
        "more_entries_than_devices",
        "pmap_axis",
        "x",
        """
x = jnp.arange(6.0)
result = jax.pmap(lambda x: x * 2)(x)  # <--
""",
        [no_code, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0], no_code],
    ),
    _case(
        "a_multiple_of_the_devices",
        "pmap_axis",
        "x",
        """
x = jnp.arange(16.0).reshape(8, 2)
result = jax.pmap(lambda row: row[::-1].sum())(x)  # <--
""",
        [no_code, [8], no_code],
        "result.shape",
    ),
    _case(
        "a_multiple_of_the_devices_with_an_axis_name",
        "pmap_axis",
        "x",
        """
x = jnp.arange(8.0)
result = jax.pmap(lambda v: jax.lax.psum(v, "i"), axis_name="i")(x)  # <--
""",
        [no_code, no_code],
        "result.shape",
    ),
    _case(
        "explicit_reshape",
        "explicit_result",
        "a.reshape(2, 8)",
        _EXPLICIT
        + """
a = jax.device_put(jnp.arange(16.0), P("x"))
result = a.reshape(2, 8)  # <--
""",
        [no_code, no_code],
    ),
    _case(
        "explicit_index",
        "explicit_index",
        "a",
        _EXPLICIT
        + """
a = jax.device_put(jnp.arange(8.0), P("x"))
result = a[jnp.array([1, 5])]  # <--
""",
        [[1.0, 5.0], no_code],
    ),
    _case(
        "explicit_update",
        "explicit_result",
        "a.at[jnp.array([1, 2])].set(3.0)",
        _EXPLICIT
        + """
a = jax.device_put(jnp.arange(8.0), P("x"))
result = a.at[jnp.array([1, 2])].set(3.0)  # <--
""",
        [no_code, no_code],
    ),
    _case(
        "out_sharding_of_automatic_axes",
        "out_sharding_of_automatic_axes",
        "x",
        """
jax.set_mesh(jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,)))
result = jax.random.normal(jax.random.key(0), (8,), out_sharding=P("x"))  # <--
""",
        [(8,), no_code],
        "result.shape",
    ),
]

# Programs whose error is like one above, but which must stay unexplained, since nobody knows what is meant.
SILENT = {
    "an_own_assertion": (
        "def f(a):\n    assert a is None\njax.shard_map(f, mesh=mesh, in_specs=P('x'), out_specs=P())(jnp.ones(4))"
    ),
    "an_assertion_about_an_axis": "assert lax.psum(0, ())",
}
