"""Indices that JAX cannot take."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="boolmask",
        kind="boolean_mask",
        variable="x",
        source="""
@jax.jit
def f(x):
    return x[x > 0].sum()  # <--
result = f(jnp.array([-1.0, 2.0, 3.0]))
""",
        result="result",
        after_fix=[5.0],
    ),
    Case(
        name="boolmask2",
        kind="boolean_mask",
        variable="mask",
        source="""
@jax.jit
def f(x):
    mask = x > 0
    return x[mask].sum()  # <--
result = f(jnp.array([-1.0, 2.0, 3.0]))
""",
        result="result",
        after_fix=[5.0],
    ),
    Case(
        name="sliced",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x[:n].sum()  # <--
result = f(jnp.array([1.0, 2.0, 4.0]), 2)
""",
        result="result",
        after_fix=[3.0, 3.0],
    ),
    Case(
        name="sliced2",
        kind="dynamic_slice",
        variable="i",
        source="""
@jax.jit
def f(x, i):
    return x[i:i+2]  # <--
result = f(jnp.arange(3.), 1)
""",
        result="result",
        after_fix=[[1.0, 2.0], [1.0, 2.0]],
    ),
    Case(
        name="index_float",
        kind="index_of_floats",
        variable="i",
        source="""
x = jnp.arange(3)
i = 1.0
result = x[i]  # <--
""",
        result="result",
        after_fix=[1],
    ),
    Case(
        name="index_list",
        kind="index_of_list",
        variable="[0, 1]",
        source="""
x = jnp.arange(3)
result = x[[0, 1]]  # <--
""",
        result="result",
        after_fix=[[0, 1]],
    ),
    Case(
        name="index_toomany",
        kind="too_many_indices",
        variable="x",
        source="""
x = jnp.arange(3)
result = x[0, 1]  # <--
""",
        result="result",
        after_fix=[0, no_edits],
    ),
    Case(
        name="mean_mask",
        kind="boolean_mask",
        variable="x",
        source="""
@jax.jit
def f(x):
    return jnp.mean(x[x > 0])  # <--
result = f(jnp.array([-1.0, 2.0, 4.0]))
""",
        result="result",
        after_fix=[3.0],
    ),
]
