"""`while` and `assert` on traced values."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="assert",
        kind="assert_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    assert x > 0  # <--
    return jnp.log(x)
result = f(1.0)
""",
        result="result",
        after_fix=[0.0, no_edits],
    ),
    Case(
        name="while",
        kind="while_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    while x < 10:  # <--
        x = x * 2
    return x
result = f(1.0)
""",
        result="result",
        after_fix=[16.0],
    ),
    Case(
        name="while_two",
        kind="while_on_tracer",
        variable="n",
        source="""
@jax.jit
def collatz(n):
    steps = 0
    while n > 1:  # <--
        n = n // 2
        steps += 1
    return steps
result = collatz(20)
""",
        result="result",
        after_fix=[4, 4],
    ),
]
