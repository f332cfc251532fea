"""Values that are no arrays."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="list_mul",
        kind="list_times_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jnp.array([1.0] * n) * x  # <--
result = f(1.0, 2)
""",
        result="result",
        after_fix=[[1.0, 1.0], [2.0]],
    ),
    Case(
        name="lax_add_arr",
        kind="lax_dtypes",
        variable="x",
        source="""
x = jnp.arange(3)
y = jnp.ones(3)
result = lax.mul(x, y)  # <--
""",
        result="result",
        after_fix=[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]],
    ),
    Case(
        name="jnp_list",
        kind="list_for_array",
        variable="[1.0, 2.0]",
        source="""
result = jnp.sin([1.0, 2.0])  # <--
""",
        result="result",
        after_fix=[[0.8414709568023682, 0.9092974066734314]],
    ),
    Case(
        name="jnp_sum_list",
        kind="list_for_array",
        variable="[1.0, 2.0]",
        source="""
result = jnp.sum([1.0, 2.0])  # <--
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="add_list",
        kind="list_for_array",
        variable="[1.0, 2.0]",
        source="""
x = jnp.ones(2)
result = x + [1.0, 2.0]  # <--
""",
        result="result",
        after_fix=[[2.0, 3.0]],
    ),
    Case(
        name="add_str",
        kind="text_and_array",
        variable="x",
        source="""
x = jnp.ones(2)
result = 'x is ' + x  # <--
""",
        result="result",
        after_fix=["x is [1. 1.]"],
    ),
    Case(
        name="iter_tracer",
        kind="scalar_iteration",
        variable="x",
        source="""
@jax.jit
def f(x):
    return [a for a in x]  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[[1.0]],
    ),
    Case(
        name="iter_scalar",
        kind="scalar_iteration",
        variable="x",
        source="""
x = jnp.float32(1)
for a in x: pass  # <--
""",
        result="x",
        after_fix=[1.0],
    ),
    Case(
        name="hash_arr",
        kind="array_as_key",
        variable="x",
        source="""
x = jnp.ones(3)
d = {x: 1}  # <--
""",
        result="list(d)",
        after_fix=[[(1.0, 1.0, 1.0)]],
    ),
    Case(
        name="truth_arr",
        kind="several_truth_values",
        variable="x",
        source="""
x = jnp.arange(3)
if x > 1:  # <--
    pass
""",
        result="x",
        after_fix=[[0, 1, 2], [0, 1, 2]],
    ),
    Case(
        name="f_format",
        kind="format_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    print(f"{x:.2f}")  # <--
    return x
result = f(1.0)
""",
        result="result",
        after_fix=[1.0, no_edits],
    ),
    Case(
        name="np_random_key",
        kind="shape_without_tuple",
        variable="3",
        source="""
result = jax.random.uniform(jax.random.key(0), 2, 3)  # <--
""",
        result="result.shape",
        after_fix=[(2, 3)],
    ),
    Case(
        name="zeros_two",
        kind="shape_without_tuple",
        variable="3",
        source="""
result = jnp.zeros(2, 3)  # <--
""",
        result="result",
        after_fix=[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]],
    ),
    Case(
        name="none_from_function",
        kind="none_for_array",
        variable="x",
        source="""
def scale(x):
    y = 2 * x
x = scale(jnp.ones(2))
result = jnp.sum(x)  # <--
""",
        result="result",
        after_fix=[4.0],
    ),
    Case(
        name="print_format",
        kind="format_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    print(f"x is {x:.2f}")  # <--
    return x
result = f(1.0)
""",
        result="result",
        after_fix=[1.0, no_edits],
    ),
]
