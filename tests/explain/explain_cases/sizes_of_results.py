"""Results that are as long as the values say."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="nonzero",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.nonzero(x)[0]  # <--
result = f(jnp.array([0, 5, 7]))
""",
        result="result",
        after_fix=[[1, 2, 0], no_edits],
    ),
    Case(
        name="unique",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.unique(x)  # <--
result = f(jnp.array([3, 1, 3]))
""",
        result="result",
        after_fix=[[1, 3, 0]],
    ),
    Case(
        name="where",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.where(x > 0)[0]  # <--
result = f(jnp.array([-1, 5, 7]))
""",
        result="result",
        after_fix=[[1, 2, 0], no_edits],
    ),
    Case(
        name="unique_jitted_itself",
        kind="size_of_result",
        variable="x",
        source="""
x = jnp.array([3, 1, 3])
result = jax.jit(jnp.unique)(x)  # <--
""",
        result="result",
        after_fix=[[1, 3, 0]],
    ),
    Case(
        name="unique_mapped_under_a_name",
        kind="size_of_result",
        variable="x",
        source="""
x = jnp.array([[3, 1, 3], [1, 2, 2]])
unique_rows = jax.vmap(jnp.unique)
result = unique_rows(x)  # <--
""",
        result="result",
        after_fix=[[[1, 3, 0], [1, 2, 0]]],
    ),
    Case(
        name="unique_of_an_expression",
        kind="size_of_result",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.unique(x[0] * 2)  # <--
result = f(jnp.array([[3, 1, 3]]))
""",
        result="result",
        after_fix=[[2, 6, 0]],
    ),
]
