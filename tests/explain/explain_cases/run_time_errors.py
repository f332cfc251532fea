"""Cases of deleted arrays, NaNs, and `checkify` checks that are not functionalized."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="donated",
        kind="deleted_array",
        variable="x",
        source="""
@partial(jax.jit, donate_argnums=0)
def f(x):
    return x + 1
x = jnp.ones(3)
y = f(x)
print(x)  # <--
""",
        result="x",
        after_fix=[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
    ),
    Case(
        name="donated2",
        kind="deleted_array",
        variable="x",
        source="""
@partial(jax.jit, donate_argnums=0)
def f(x):
    return x + 1
x = jnp.ones(3)
y = f(x)
z = x + y  # <--
""",
        result="z",
        after_fix=[[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]],
    ),
    Case(
        name="debug_nans",
        kind="not_a_number",
        variable="x",
        source="""
jax.config.update('jax_debug_nans', True)
x = jnp.float32(0.0)
y = x / x  # <--
""",
        result="y",
        after_fix=[0.0, no_edits],
    ),
    Case(
        name="debug_nans_jit",
        kind="not_a_number",
        variable="x",
        source="""
jax.config.update('jax_debug_nans', True)
@jax.jit
def f(x):
    y = jnp.log(x)  # <--
    return y * 2
result = f(-1.0)
""",
        result="result",
        after_fix=[0.0, no_edits],
    ),
    Case(
        name="checkify",
        kind="check_not_wrapped",
        variable="f",
        source="""
from jax.experimental import checkify
@jax.jit
def f(x):
    checkify.check(x > 0, "must be positive: {x}", x=x)
    return jnp.log(x)
result = f(1.0)  # <--
""",
        result="result",
        after_fix=[0.0],
    ),
]
