"""Python's functions and `in`, which ask for the truth of traced values."""

from explain_cases.case import Case

CASES = [
    Case(
        name="and",
        kind="and_or_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x, y):
    return x > 0 and y > 0  # <--
result = f(1.0, -2.0)
""",
        result="result",
        after_fix=[False, False],
    ),
    Case(
        name="not",
        kind="not_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return not x  # <--
result = f(True)
""",
        result="result",
        after_fix=[False, False],
    ),
    Case(
        name="max",
        kind="min_max_on_tracer",
        variable="a",
        source="""
@jax.jit
def f(a, b):
    return max(a, b)  # <--
result = f(1.0, 2.0)
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="in_arr",
        kind="in_on_tracer",
        variable="v",
        source="""
@jax.jit
def f(x, v):
    return v in x  # <--
result = f(jnp.arange(3), 2)
""",
        result="result",
        after_fix=[True],
    ),
    Case(
        name="chained",
        kind="chained_comparison_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return 0 < x < 1  # <--
result = f(0.5)
""",
        result="result",
        after_fix=[True, True],
    ),
    Case(
        name="choice_dyn",
        kind="static_needed",
        variable="n",
        source="""
@jax.jit
def f(key, x, n):
    return jax.random.choice(key, x, (n,))  # <--
result = f(jax.random.key(0), jnp.ones(3), 2)
""",
        result="result.shape",
        after_fix=[(2,)],
    ),
    Case(
        name="any",
        kind="any_all_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if any(x > 0):  # <--
        return x
    return -x
result = f(jnp.array([-1.0, 2.0]))
""",
        result="result",
        after_fix=[[-1.0, 2.0]],
    ),
    Case(
        name="bool",
        kind="bool_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return bool(x > 0)  # <--
result = f(-1.0)
""",
        result="result",
        after_fix=[False],
    ),
    Case(
        name="sorted",
        kind="sorted_on_tracer",
        variable="a",
        source="""
@jax.jit
def f(a, b):
    return sorted([a, b])[0]  # <--
result = f(2.0, 1.0)
""",
        result="result",
        after_fix=[1.0],
    ),
    Case(
        name="topk_dyn",
        kind="static_needed",
        variable="k",
        source="""
@jax.jit
def f(x, k):
    return lax.top_k(x, k)  # <--
result = f(jnp.ones(3), 2)
""",
        result="result",
        after_fix=[[[1.0, 1.0], [0, 1]]],
    ),
    Case(
        name="max_list",
        kind="min_max_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return max([x, 2 * x])  # <--
result = f(3.0)
""",
        result="result",
        after_fix=[6.0],
    ),
]
