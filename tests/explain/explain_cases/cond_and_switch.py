"""Cases of branches in `jax.lax`."""

from explain_cases.case import Case

CASES = [
    Case(
        name="cond_type",
        kind="branch_types",
        variable="0",
        source="""
def f(x):
    return lax.cond(x > 0, lambda x: x, lambda x: 0, x)  # <--
result = f(-1.0)
""",
        after_fix=[0.0],
    ),
    Case(
        name="cond_struct",
        kind="branch_structure",
        variable="x",
        source="""
def f(x):
    return lax.cond(x > 0, lambda x: (x, x), lambda x: x, x)  # <--
result = f(1.0)
""",
    ),
    Case(
        name="cond_notcallable",
        kind="branch_no_function",
        variable="x",
        source="""
def f(x):
    return lax.cond(x > 0, x, -x)  # <--
result = f(-3.0)
""",
    ),
    Case(
        name="cond_pred",
        kind="condition_with_axes",
        variable="x > 0",
        source="""
def f(x):
    return lax.cond(x > 0, lambda x: x, lambda x: -x, x)  # <--
result = f(jnp.array([1.0, -2.0, 3.0]))
""",
    ),
    Case(
        name="switch_type",
        kind="branch_types",
        variable="jnp.int32(0)",
        source="""
result = lax.switch(0, [lambda x: x, lambda x: jnp.int32(0)], 1.0)  # <--
""",
        after_fix=[1.0],
    ),
]
