"""Cases of branches and carries that differ in a part, and of bodies that return other parts."""

from explain_cases.case import Case

CASES = [
    Case(
        name="cond_shapes",
        kind="branch_types",
        variable="x.sum()",
        source="""
result = jax.lax.cond(True, lambda x: x, lambda x: x.sum(), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="cond_shapes_tuple",
        kind="branch_types",
        variable="jnp.zeros(3)",
        source="""
def a(x):
    return x, jnp.zeros(2)
def b(x):
    y = x * 2
    return y, jnp.zeros(3)
result = jax.lax.cond(True, a, b, jnp.ones(3))  # <--
""",
    ),
    Case(
        name="cond_dtypes_dict",
        kind="branch_types",
        variable='s["n"] + 1',
        source="""
def a(s):
    return {"x": s["x"], "n": s["n"] + 1}
def b(s):
    return {"x": s["x"], "n": 0.0}
result = jax.lax.cond(True, a, b, {"x": jnp.ones(2), "n": 1})  # <--
""",
        after_fix=[[["n", 2.0], ["x", [1.0, 1.0]]]],
    ),
    Case(
        name="cond_struct_dict",
        kind="branch_structure",
        variable='{"x": s["x"], "n": s["n"] + 1}',
        source="""
def a(s):
    return {"x": s["x"], "n": s["n"] + 1}
def b(s):
    return {"x": s["x"]}
result = jax.lax.cond(True, a, b, {"x": jnp.ones(2), "n": 1})  # <--
""",
    ),
    Case(
        name="cond_none",
        kind="branch_returns_none",
        variable="b",
        source="""
def a(x):
    return x + 1
def b(x):
    print("skip")
result = jax.lax.cond(True, a, b, 1.0)  # <--
""",
    ),
    Case(
        name="cond_list_tuple",
        kind="branch_structure",
        variable="[x, x]",
        source="""
result = jax.lax.cond(True, lambda x: (x, x), lambda x: [x, x], 1.0)  # <--
""",
    ),
    Case(
        name="cond_counts",
        kind="branch_structure",
        variable="(x, x)",
        source="""
result = jax.lax.cond(True, lambda x: (x, x, x), lambda x: (x, x), 1.0)  # <--
""",
    ),
    Case(
        name="switch_named_list",
        kind="branch_types",
        variable="x",
        source="""
def f(x): return x
def g(x): return x * 2
def h(x): return jnp.zeros(2)
branches = [f, g, h]
result = jax.lax.switch(1, branches, 2.0)  # <--
""",
    ),
    Case(
        name="switch_float_index",
        kind="switch_index",
        variable="jnp.array(1.0)",
        source="""
result = jax.lax.switch(jnp.array(1.0), [lambda x: x, lambda x: -x], 2.0)  # <--
""",
        after_fix=[-2.0],
    ),
    Case(
        name="scan_three_returned",
        kind="scan_pair",
        variable="step",
        source="""
def step(c, x):
    return c + x, c, x
result = jax.lax.scan(step, 0.0, jnp.ones(3))  # <--
""",
        after_fix=[[3.0, [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]]],
    ),
    Case(
        name="scan_key_carry",
        kind="carry_type",
        variable="key",
        source="""
def step(key, x):
    keys = jax.random.split(key)
    return keys, x
result = jax.lax.scan(step, jax.random.key(0), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="scan_raw_to_typed",
        kind="carry_type",
        variable="carry[0]",
        source="""
def step(carry, x):
    key, y = carry
    key = jax.random.key(1)
    return (key, y + x), None
result = jax.lax.scan(step, (jax.random.PRNGKey(0), 0.0), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="scan_bfloat",
        kind="carry_type",
        variable="c",
        source="""
def step(c, x):
    return c * 1.0 + x.astype(jnp.float32), None
result = jax.lax.scan(step, jnp.zeros(3, jnp.bfloat16), jnp.ones((2, 3)))  # <--
""",
        after_fix=[[[2.0, 2.0, 2.0], None], [[2.0, 2.0, 2.0], None]],
    ),
    Case(
        name="grow_concat",
        kind="carry_type",
        variable="xs",
        source="""
def body(i, xs):
    return jnp.concatenate([xs, jnp.array([i * 1.0])])
result = jax.lax.fori_loop(0, 3, body, jnp.zeros(1))  # <--
""",
    ),
    Case(
        name="grow_while",
        kind="carry_type",
        variable="s[1]",
        source="""
def body(s):
    i, out = s
    return i + 1, jnp.append(out, i)
result = jax.lax.while_loop(lambda s: s[0] < 3, body, (0, jnp.zeros(0)))  # <--
""",
    ),
    Case(
        name="nested_scan_inner",
        kind="carry_type",
        variable="d",
        source="""
def outer(c, x):
    def inner(d, y):
        return d + y, None
    c, _ = jax.lax.scan(inner, c, jnp.ones((2, 3)))  # <--
    return c, None
result = jax.lax.scan(outer, jnp.zeros(()), jnp.ones(2))
""",
    ),
    Case(
        name="fori_none_init",
        kind="carry_structure",
        variable="v",
        source="""
result = jax.lax.fori_loop(0, 3, lambda i, v: jnp.ones(2) * i, None)  # <--
""",
    ),
    Case(
        name="fori_shape",
        kind="carry_type",
        variable="v",
        source="""
A = jnp.ones((3, 2))
result = jax.lax.fori_loop(0, 3, lambda i, v: A @ v, jnp.ones(2))  # <--
""",
    ),
    Case(
        name="scan_nested_carry_shape",
        kind="carry_type",
        variable="state[0][1]",
        source="""
def step(state, x):
    (a, b), n = state
    return ((a + x, b[None] * 1.0), n + 1), None
result = jax.lax.scan(step, ((jnp.zeros(2), jnp.zeros(2)), 0), jnp.ones((3, 2)))  # <--
""",
    ),
    Case(
        name="fori_swapped",
        kind="swapped_parameters",
        variable="i",
        source="""
x = jnp.arange(5.0)
def body(acc, i):
    return acc + x[i]  # <--
result = lax.fori_loop(0, 3, body, 0.0)
""",
    ),
    Case(
        name="static_scalar_array",
        kind="unhashable_static",
        variable="n",
        source="""
@partial(jax.jit, static_argnames="n")
def first(x, n):
    return x[:n]
n = jnp.minimum(2, 3)
result = first(jnp.arange(4.0), n=n)  # <--
""",
        after_fix=[[0.0, 1.0]],
    ),
    Case(
        name="static_dict_with_arrays",
        kind="unhashable_static",
        variable="options",
        source="""
@partial(jax.jit, static_argnums=1)
def first(x, options):
    return x[: options["n"]] * options["gain"]
result = first(jnp.arange(4.0), {"n": 2, "gain": jnp.ones(2)})  # <--
""",
    ),
    Case(
        name="lax_ranks_of_new_arrays",
        kind="shapes_do_not_broadcast",
        variable="jnp.ones((2, 3))",
        source="""
result = lax.add(jnp.ones((2, 3)), jnp.ones(3))  # <--
""",
        after_fix=[[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]],
    ),
    Case(
        name="fori_key_in_capitals",
        kind="carry_structure",
        variable="state",
        source="""
def turn(i, state):
    return {"T": state["t"] + i}
result = lax.fori_loop(0, 3, turn, {"t": 0.0})  # <--
""",
    ),
]
