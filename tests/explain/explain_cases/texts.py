"""Cases of strings made from arrays and traced values."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="add_str",
        kind="text_and_array",
        variable="x",
        source="""
x = jnp.ones(2)
result = 'x is ' + x  # <--
""",
        after_fix=["x is [1. 1.]"],
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
        after_fix=[1.0, no_edits],
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
        after_fix=[1.0, no_edits],
    ),
]
