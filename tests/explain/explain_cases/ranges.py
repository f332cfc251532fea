"""Loops over a `range` whose end is traced."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="range_of_a_sum",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    s = 0.0
    for i in range(x.shape[0] + n):  # <--
        s = s + i
    return s
result = f(jnp.ones(3), 2)
""",
        result="result",
        after_fix=[10.0, 10.0],
    ),
    Case(
        name="range_of_a_product",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    for i in range(2 * n):  # <--
        x = x + 1.0
    return x
result = f(1.0, 2)
""",
        result="result",
        after_fix=[5.0, 5.0],
    ),
    Case(
        name="range_of_a_maximum",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    s = 0
    for i in range(jnp.max(x) + 1):  # <--
        s = s + i
    return s
result = f(jnp.array([1, 3]))
""",
        result="result",
        after_fix=[6],
    ),
    Case(
        name="range_of_int_of_an_entry",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    s = 0.0
    for i in range(int(x[0])):  # <--
        s = s + i
    return s
result = f(jnp.array([3.0, 1.0]))
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="range_of_int_and_one",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    s = 0.0
    for i in range(1, int(x[0]) + 1):  # <--
        s = s + i
    return s
result = f(jnp.array([3.0, 1.0]))
""",
        result="result",
        after_fix=[6.0],
    ),
    Case(
        name="range_of_a_traced_float",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    for i in range(2 * n):  # <--
        x = x * 2.0
    return x
result = f(1.0, 2.0)
""",
        result="result",
        after_fix=[16.0],
    ),
    Case(
        name="range_of_an_array_of_one_float",
        kind="range_of_float",
        variable="n",
        source="""
n = jnp.float32(3)
result = [i for i in range(n)]  # <--
""",
        result="result",
        after_fix=[[0, 1, 2]],
    ),
    Case(
        name="range_that_collects",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    rows = []
    for i in range(x[0] + 1):  # <--
        rows.append(x * i)
    return jnp.stack(rows)
result = f(jnp.array([3, 1]))
""",
        result="result",
        after_fix=[no_code],
    ),
    Case(
        name="range_in_a_comprehension",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jnp.stack([x + i for i in range(2 * n)])  # <--
result = f(1.0, 2)
""",
        result="result",
        after_fix=[[1.0, 2.0, 3.0, 4.0]],
    ),
]
