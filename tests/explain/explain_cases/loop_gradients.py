"""Gradients back through loops."""

from explain_cases.case import Case

CASES = [
    Case(
        name="rev_while",
        kind="reverse_through_while",
        variable="x",
        source="""
def f(x):
    return lax.while_loop(lambda c: c < 10, lambda c: c * 2, x)  # <--
result = jax.grad(f)(1.0)
""",
        result="result",
        after_fix=[16.0, 16.0],
    ),
    Case(
        name="rev_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.grad(f)(2.0, 3)
""",
        result="result",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="fori_rev_body",
        kind="reverse_through_while",
        variable="n",
        source="""
def power(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.grad(jax.jit(power))(2.0, 3)
""",
        result="result",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="jit_of_grad_through_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.jit(jax.grad(f))(2.0, 3)
""",
        result="result",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="jit_of_value_and_grad_through_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
g = jax.jit(jax.value_and_grad(f))
result = g(2.0, 3)
""",
        result="result",
        after_fix=[(8.0, 12.0)],
    ),
    Case(
        name="jit_of_grad_of_a_lambda_through_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
g = jax.jit(jax.grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, 1.0)))  # <--
result = g(2.0, 3)
""",
        result="result",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="jitted_again_around_grad",
        kind="reverse_through_while",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.jit(jax.grad(f))(2.0, 3)
""",
        result="result",
        after_fix=[12.0, 12.0],
    ),
]
