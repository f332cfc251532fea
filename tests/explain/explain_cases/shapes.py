"""Cases of shapes that do not match, and of arrays that cannot be concatenated."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="concatenate_two_names",
        kind="concatenate_without_list",
        variable="b",
        source="""
def cat(a, b):
    return jnp.concatenate(a, b)  # <--
result = cat(jnp.ones(2), jnp.ones(1))
""",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="concatenate_with_axis",
        kind="concatenate_without_list",
        variable="b",
        source="""
a, b = jnp.ones((1, 1)), jnp.ones((1, 2))
result = jnp.concatenate(a, b, axis=1)  # <--
""",
        after_fix=[[[1.0, 1.0, 1.0]]],
    ),
    Case(
        name="stack_two",
        kind="concatenate_without_list",
        variable="jnp.zeros(2)",
        source="""
result = jnp.stack(jnp.ones(2), jnp.zeros(2))  # <--
""",
        after_fix=[[[1.0, 1.0], [0.0, 0.0]]],
    ),
    Case(
        name="hstack_two",
        kind="concatenate_without_list",
        variable="a",
        source="""
a = jnp.ones(2)
result = jnp.hstack(a, a)  # <--
""",
        after_fix=[[1.0, 1.0, 1.0, 1.0]],
    ),
    Case(
        name="vstack_two",
        kind="concatenate_without_list",
        variable="a",
        source="""
a = jnp.ones(1)
result = jnp.vstack(a, a)  # <--
""",
        after_fix=[[[1.0], [1.0]]],
    ),
    Case(
        name="matmul_unnamed",
        kind="product_of_shapes",
        variable="jnp.ones((1, 2))",
        source="""
result = jnp.ones((1, 2)) @ jnp.ones((1, 2))  # <--
""",
        after_fix=[[[1.0, 1.0], [1.0, 1.0]]],
    ),
    Case(
        name="matmul_no_way",
        kind="product_of_shapes",
        variable="x",
        source="""
x = jnp.ones((2, 3, 4))
result = x @ jnp.ones((5, 6))  # <--
""",
    ),
    Case(
        name="reshape_expression",
        kind="reshape_size",
        variable="x * 2",
        source="""
x = jnp.ones(4)
result = (x * 2).reshape(4, 2)  # <--
""",
        after_fix=[[[2.0, 2.0]] * 4],
    ),
    Case(
        name="reshape_to_repeat_the_whole",
        kind="reshape_size",
        variable="x",
        source="""
x, like = jnp.arange(2.0), jnp.ones((3, 2, 5))
result = jnp.reshape(x, like.shape[:2])  # <--
""",
    ),
    Case(
        name="reshape_to_repeat_one_or_all",
        kind="reshape_size",
        variable="x",
        source="""
x, shape = jnp.arange(2.0), (2, 2)
result = x.reshape(shape)  # <--
""",
        after_fix=[[[0.0, 0.0], [1.0, 1.0]]],
    ),
    Case(
        name="product_with_a_batch",
        kind="product_of_shapes",
        variable="w",
        source="""
def residual(w, x, mean):
    return w @ (x - 2 * mean)  # <--
result = residual(jnp.ones((3, 2)), jnp.ones((7, 2)), jnp.ones(2))
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="product_that_no_entry_fits",
        kind="product_of_shapes",
        variable="w",
        source="""
def residual(w, x, mean):
    return w @ (x - mean)  # <--
result = residual(jnp.ones((3, 2)), jnp.ones((7, 5)), jnp.ones(5))
""",
    ),
    Case(
        name="reshape_unnamed",
        kind="reshape_size",
        variable="jnp.arange(10)",
        source="""
result = jnp.arange(10).reshape(3, 3)  # <--
""",
    ),
    Case(
        name="concatenate_ranks_of_a_call",
        kind="joined_shapes",
        variable="jnp.sum(x, axis=0)",
        source="""
x = jnp.ones((2, 3))
result = jnp.concatenate([x, jnp.sum(x, axis=0)])  # <--
""",
    ),
    Case(
        name="concatenate_ranks_in_columns",
        kind="joined_shapes",
        variable="y",
        source="""
x, y = jnp.ones((2, 3)), jnp.zeros(2)
result = jnp.concatenate([x, y], axis=1)  # <--
""",
    ),
    Case(
        name="concatenate_ranks_along_the_wrong_axis",
        kind="joined_shapes",
        variable="y",
        source="""
x, y = jnp.ones((2, 3)), jnp.zeros(2)
result = jnp.concatenate([x, y])  # <--
""",
    ),
    Case(
        name="concatenate_a_number",
        kind="joined_shapes",
        variable="0.0",
        source="""
x = jnp.ones(2)
result = jnp.concatenate([x, 0.0])  # <--
""",
    ),
    Case(
        name="concatenate_ranks_under_a_name",
        kind="joined_shapes",
        variable="rows[1]",
        source="""
x = jnp.ones((2, 3))
rows = [x, x[0]]
result = jnp.concatenate(rows).shape  # <--
""",
    ),
    Case(
        name="hstack_ranks",
        kind="joined_shapes",
        variable="jnp.zeros(2)",
        source="""
x = jnp.ones((2, 1))
result = jnp.hstack([x, jnp.zeros(2)])  # <--
""",
    ),
    Case(
        name="vmap_axis_out",
        kind="axis_out_of_bounds",
        variable="jax.vmap(f, out_axes=2)(jnp.ones(3))",
        source="""
def f(a):
    return a
result = jax.vmap(f, out_axes=2)(jnp.ones(3))  # <--
""",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="lax_shape",
        kind="shapes_do_not_broadcast",
        variable="jnp.ones(3)",
        source="""
result = lax.add(jnp.ones(3), jnp.ones((2, 3)))  # <--
""",
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
        after_fix=[[[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]]],
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
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="concat_scalar",
        kind="concatenate_scalars",
        variable="[1.0, 2.0]",
        source="""
result = jnp.concatenate([1.0, 2.0])  # <--
""",
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
    ),
    Case(
        name="reshape_bad",
        kind="reshape_size",
        variable="x",
        source="""
x = jnp.ones(6)
result = x.reshape(4, 2)  # <--
""",
    ),
    Case(
        name="ragged",
        kind="ragged_list",
        variable="[[1, 2], [3]]",
        source="""
result = jnp.array([[1, 2], [3]])  # <--
""",
        after_fix=[no_code, [[1, 2], [3]]],
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
        after_fix=[no_code, [[1.0, 1.0], [1.0]]],
    ),
    Case(
        name="axis_oob",
        kind="axis_out_of_bounds",
        variable="x",
        source="""
x = jnp.ones(3)
result = jnp.sum(x, axis=1)  # <--
""",
        after_fix=[3.0],
    ),
]
