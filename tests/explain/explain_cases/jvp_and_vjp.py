"""Cases of arguments that `jax.jvp` and `jax.vjp` do not support, and of incomplete derivative rules."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="jvp_dtype",
        kind="tangent_dtype",
        variable="1",
        source="""
result = jax.jvp(jnp.sin, (1.0,), (1,))  # <--
""",
    ),
    Case(
        name="jvp_struct",
        kind="jvp_without_tuples",
        variable="1.0",
        source="""
result = jax.jvp(jnp.sin, 1.0, 1.0)  # <--
""",
    ),
    Case(
        name="vjp_shape",
        kind="cotangent_shape",
        variable="1.0",
        source="""
y, pull = jax.vjp(jnp.sin, jnp.ones(3))
result = pull(1.0)  # <--
""",
    ),
    Case(
        name="customjvp_missing",
        kind="rule_missing",
        variable="f",
        source="""
@jax.custom_jvp
def f(x):
    return x ** 2
result = jax.grad(f)(1.0)  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="customvjp_missing",
        kind="rule_missing",
        variable="f",
        source="""
@jax.custom_vjp
def f(x):
    return x ** 2
result = jax.grad(f)(1.0)  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="customvjp_tuple",
        kind="backward_no_tuple",
        variable="bwd",
        source="""
@jax.custom_vjp
def f(x):
    return x ** 2
def fwd(x): return f(x), x
def bwd(x, g): return 2 * x * g  # <--
f.defvjp(fwd, bwd)
result = jax.grad(f)(1.0)
""",
        after_fix=[2.0],
    ),
    Case(
        name="cumvjp_fwdmode",
        kind="forward_of_custom_vjp",
        variable="f",
        source="""
@jax.custom_vjp
def f(x):
    return x ** 2
def fwd(x): return f(x), x
def bwd(x, g): return (2 * x * g,)
f.defvjp(fwd, bwd)
result = jax.jacfwd(f)(1.0)  # <--
""",
    ),
]
