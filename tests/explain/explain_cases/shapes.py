"""Shapes that do not fit."""

from explain_cases.case import Case

CASES = [
    Case(
        name="vmap_axis_out",
        kind="axis_out_of_bounds",
        variable="jax.vmap(f, out_axes=2)(jnp.ones(3))",
        source="""
def f(a):
    return a
result = jax.vmap(f, out_axes=2)(jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="lax_shape",
        kind="shapes_do_not_broadcast",
        variable="jnp.ones(3)",
        source="""
result = lax.add(jnp.ones(3), jnp.ones((2, 3)))  # <--
""",
        result="result",
        after_fix=[[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]],
    ),
    Case(
        name="bcast",
        kind="shapes_do_not_broadcast",
        variable="y",
        source="""
x = jnp.ones(3)
y = jnp.ones(4)
result = x + y  # <--
""",
        result="result",
        after_fix=[[[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]], [2.0, 2.0, 2.0]],
    ),
    Case(
        name="bcast2",
        kind="shapes_do_not_broadcast",
        variable="x",
        source="""
@jax.jit
def f(w, x):
    return w * x  # <--
result = f(jnp.ones((2, 3)), jnp.ones(2))
""",
        result="result",
        after_fix=[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]],
    ),
    Case(
        name="dot",
        kind="product_of_shapes",
        variable="w",
        source="""
w = jnp.ones((2, 3))
x = jnp.ones((2,))
result = w @ x  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="concat_scalar",
        kind="concatenate_scalars",
        variable="[1.0, 2.0]",
        source="""
result = jnp.concatenate([1.0, 2.0])  # <--
""",
        result="result",
        after_fix=[[1.0, 2.0]],
    ),
    Case(
        name="concat_dims",
        kind="joined_shapes",
        variable="y",
        source="""
x = jnp.ones((2, 3))
y = jnp.ones(3)
result = jnp.concatenate([x, y])  # <--
""",
        result="result",
        after_fix=[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]],
    ),
    Case(
        name="concat_shape",
        kind="joined_shapes",
        variable="y",
        source="""
x = jnp.ones((2, 3))
y = jnp.ones((2, 4))
result = jnp.concatenate([x, y])  # <--
""",
        result="result",
        after_fix=[[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]],
    ),
    Case(
        name="concat_args",
        kind="concatenate_without_list",
        variable="y",
        source="""
x = jnp.ones((2, 3))
y = jnp.ones((2, 4))
result = jnp.concatenate(x, y)  # <--
""",
        result="result",
        after_fix=[[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]],
    ),
    Case(
        name="stack_shape",
        kind="joined_shapes",
        variable="y",
        source="""
x = jnp.ones((2, 3))
y = jnp.ones((2, 4))
result = jnp.stack([x, y])  # <--
""",
        result="result",
        after_fix=[[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]],
    ),
    Case(
        name="reshape_bad",
        kind="reshape_size",
        variable="x",
        source="""
x = jnp.ones(6)
result = x.reshape(4, 2)  # <--
""",
        result="result",
        after_fix=[[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]],
    ),
    Case(
        name="ragged",
        kind="ragged_list",
        variable="[[1, 2], [3]]",
        source="""
result = jnp.array([[1, 2], [3]])  # <--
""",
        result="result",
        after_fix=[[[1, 2], [3, 0]], [[1, 2], [3]]],
    ),
    Case(
        name="ragged_jit",
        kind="ragged_list",
        variable="[[x, x], [x]]",
        source="""
@jax.jit
def f(x):
    return jnp.array([[x, x], [x]])  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[[[1.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0]]],
    ),
    Case(
        name="axis_oob",
        kind="axis_out_of_bounds",
        variable="x",
        source="""
x = jnp.ones(3)
result = jnp.sum(x, axis=1)  # <--
""",
        result="result",
        after_fix=[3.0],
    ),
]
