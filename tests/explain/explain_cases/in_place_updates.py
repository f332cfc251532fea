"""Cases of arrays updated in place."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="numpy_item",
        kind="numpy_item_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    a = np.zeros(2)
    a[0] = x  # <--
    return a
result = f(1.0)
""",
        after_fix=[[1.0, 0.0]],
    ),
    Case(
        name="setitem",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.zeros(3)
x[0] = 1.0  # <--
""",
        result="x",
        after_fix=[[1.0, 0.0, 0.0]],
    ),
    Case(
        name="setitem_jit",
        kind="item_assignment",
        variable="x",
        source="""
@jax.jit
def f(x):
    x[0] += 1.0  # <--
    return x
result = f(jnp.array([1.0, 2.0, 3.0]))
""",
        after_fix=[[2.0, 2.0, 3.0]],
    ),
    Case(
        name="delitem",
        kind="item_deletion",
        variable="x",
        source="""
x = jnp.zeros(3)
del x[0]  # <--
""",
        result="x",
        after_fix=[[0.0, 0.0]],
    ),
    Case(
        name="setattr_shape",
        kind="shape_assignment",
        variable="x",
        source="""
x = jnp.zeros(6)
x.shape = (2, 3)  # <--
""",
        result="x",
        after_fix=[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]],
    ),
    Case(
        name="at_missing_set",
        kind="at_arithmetic",
        variable="x",
        source="""
x = jnp.zeros(3)
x = x.at[0] + 1.0  # <--
""",
        result="x",
        after_fix=[[1.0, 0.0, 0.0]],
    ),
    Case(
        name="at_call",
        kind="at_called",
        variable="x",
        source="""
x = jnp.zeros(3)
result = x.at(0).set(1.0)  # <--
""",
        after_fix=[[1.0, 0.0, 0.0]],
    ),
    Case(
        name="at_assign",
        kind="at_assigned",
        variable="x",
        source="""
x = jnp.zeros(3)
x.at[0] = 1.0  # <--
""",
        result="x",
        after_fix=[[1.0, 0.0, 0.0]],
    ),
    Case(
        name="npcall_append",
        kind="list_method",
        variable="x",
        source="""
x = jnp.zeros(3)
result = x.append(1.0)  # <--
""",
    ),
    Case(
        name="set_mask",
        kind="item_assignment",
        variable="x",
        source="""
@jax.jit
def f(x):
    x[x < 0] = 0.0  # <--
    return x
result = f(jnp.array([-1.0, 2.0]))
""",
        after_fix=[[0.0, 2.0]],
    ),
    Case(
        name="set_2d",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.zeros((2, 2))
x[0][1] = 5.0  # <--
""",
        result="x",
        after_fix=[[[0.0, 5.0], [0.0, 0.0]]],
    ),
    Case(
        name="set_minus",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.array([1.0, 2.0])
x[1] -= 0.5  # <--
""",
        result="x",
        after_fix=[[1.0, 1.5]],
    ),
    Case(
        name="set_dict",
        kind="item_assignment",
        variable="params['w']",
        source="""
params = {'w': jnp.zeros(2)}
params['w'][0] = 3.0  # <--
x = params['w']
""",
        result="x",
        after_fix=[[3.0, 0.0]],
    ),
    Case(
        name="set_loop",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.zeros(3)
for i in range(3):
    x[i] = i * 2.0  # <--
""",
        result="x",
        after_fix=[[0.0, 2.0, 4.0], no_edits],
    ),
    Case(
        name="set_mod",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.array([7, 8])
x[0] %= 4  # <--
""",
        result="x",
        after_fix=[[3, 8]],
    ),
    Case(
        name="set_slice_dyn",
        kind="item_assignment",
        variable="x",
        source="""
@jax.jit
def f(x, n):
    x[:n] = 0.0  # <--
    return x
result = f(jnp.ones(3), 2)
""",
    ),
    Case(
        name="swap",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.arange(3.0)
x[0], x[1] = x[1], x[0]  # <--
""",
        after_fix=[no_edits],
    ),
    Case(
        name="swap_under_jit",
        kind="item_assignment",
        variable="x",
        source="""
@jax.jit
def f(x, i, j):
    x[i], x[j] = x[j], x[i]  # <--
    return x
result = f(jnp.arange(3.0), 0, 2)
""",
        after_fix=[no_edits],
    ),
    Case(
        name="two_items_of_a_call",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.zeros(3)
x[0], x[1] = divmod(7, 2)  # <--
""",
        after_fix=[no_edits],
    ),
    Case(
        name="two_items_at_once",
        kind="item_assignment",
        variable="x",
        source="""
x = jnp.zeros(3)
x[0] = x[2] = 1.0  # <--
""",
        after_fix=[no_edits],
    ),
]
