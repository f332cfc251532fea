"""Traced values as keys of dicts and elements of sets."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="dict_stored_by_a_tracer",
        kind="dict_key_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    cache = {}
    cache[x] = x * 2  # <--
    return cache[x]
result = f(1.0)
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="dict_by_a_computed_number",
        kind="dict_key_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    prices = {3: 1.0, 7: 2.0}
    return prices[x[0] + 1]  # <--
result = f(jnp.array([2]))
""",
        result="result",
        after_fix=[no_code],
    ),
    Case(
        name="set_of_tracers",
        kind="dict_key_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x, y):
    return len({x, y}) * x  # <--
result = f(1.0, 2.0)
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="dict_made_from_a_traced_array",
        kind="dict_key_of_tracer",
        variable="v",
        source="""
@jax.jit
def f(x):
    seen = {}
    for v in x:
        seen[v] = 1.0  # <--
    return len(seen)
result = f(jnp.arange(2))
""",
        result="result",
        after_fix=[no_code],
    ),
]
