"""Cases of indices that JAX does not support."""

from explain_cases.case import Case, no_code

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
        after_fix=[3.0],
    ),
    Case(
        name="dynamic_idx_assign",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x.at[:n].set(0.0)  # <--
result = f(jnp.ones(3), 2)
""",
        after_fix=[no_code, [0.0, 0.0, 1.0]],
    ),
    Case(
        name="mask_2d",
        kind="boolean_mask",
        variable="keep",
        source="""
@jax.jit
def f(x):
    keep = x[:, 0] > 0
    return x[keep].sum()  # <--
result = f(jnp.array([[1.0, 2.0], [-1.0, 5.0], [3.0, 4.0]]))
""",
        after_fix=[10.0],
    ),
    Case(
        name="mask_2d_mean",
        kind="boolean_mask",
        variable="keep",
        source="""
@jax.jit
def f(x, keep):
    return x[keep].mean()  # <--
result = f(jnp.array([[1.0, 2.0], [-1.0, 5.0], [3.0, 4.0]]), jnp.array([True, False, True]))
""",
        after_fix=[2.5],
    ),
    Case(
        name="slice_2d",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x[:n].sum()  # <--
result = f(jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 2)
""",
        after_fix=[10.0, 10.0],
    ),
    Case(
        name="slice_cols",
        kind="dynamic_slice",
        variable="i",
        source="""
@jax.jit
def f(x, i):
    return x[:, i:i+2]  # <--
result = f(jnp.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]), 1)
""",
        after_fix=[[[2.0, 3.0], [4.0, 5.0]], [[2.0, 3.0], [4.0, 5.0]]],
    ),
    Case(
        name="slice_cols_mask",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x[:, :n].max()  # <--
result = f(jnp.array([[1.0, 2.0, 9.0], [3.0, 4.0, 9.0]]), 2)
""",
        after_fix=[no_code, 4.0],
    ),
    Case(
        name="slice_mean",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x[:n].mean()  # <--
result = f(jnp.array([1.0, 3.0, 100.0]), 2)
""",
        after_fix=[2.0, 2.0],
    ),
    Case(
        name="slice_from_to",
        kind="dynamic_slice",
        variable="lo",
        source="""
@jax.jit
def f(x, lo, hi):
    return x[lo:hi].sum()  # <--
result = f(jnp.array([1.0, 3.0, 100.0]), 1, 2)
""",
        after_fix=[3.0, 3.0],
    ),
    Case(
        name="at_add_dyn",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x.at[n:].add(1.0)  # <--
result = f(jnp.zeros(3), 2)
""",
        after_fix=[no_code, [0.0, 0.0, 1.0]],
    ),
    Case(
        name="slice_negative",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x[:-n].sum()  # <--
result = f(jnp.array([1.0, 2.0, 4.0]), 1)
""",
        after_fix=[3.0],
    ),
    Case(
        name="mask_max_int",
        kind="boolean_mask",
        variable="x",
        source="""
@jax.jit
def f(x):
    return x[x < 5].max()  # <--
result = f(jnp.array([1, 3, 9]))
""",
    ),
    Case(
        name="update_by_a_mask",
        kind="boolean_mask",
        variable="far",
        source="""
@jax.jit
def f(x):
    far = x > 2.0
    return x.at[far].set(-jnp.abs(x[far]) * 0.5)  # <--
result = f(jnp.array([1.0, 4.0, 3.0]))
""",
    ),
    Case(
        name="update_by_a_mask_that_adds",
        kind="boolean_mask",
        variable="far",
        source="""
@jax.jit
def f(x, y):
    far = x > 2.0
    return x.at[far].add(y[far] - x[far])  # <--
result = f(jnp.array([1.0, 4.0, 3.0]), jnp.array([5.0, 6.0, 7.0]))
""",
    ),
    Case(
        name="assignment_by_a_mask",
        kind="boolean_mask",
        variable="far",
        source="""
@jax.jit
def f(x):
    far = x > 2.0
    x[far] = x[far] * 0.5  # <--
    return x
result = f(jnp.array([1.0, 4.0, 3.0]))
""",
    ),
    Case(
        name="update_of_the_first",
        kind="dynamic_slice",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return x.at[:n].set(x[:n] * 2)  # <--
result = f(jnp.array([1.0, 4.0, 3.0]), 2)
""",
        after_fix=[no_code, [2.0, 8.0, 3.0]],
    ),
    Case(
        name="slice_of_one_batch",
        kind="dynamic_slice",
        variable="i",
        source="""
def f(x, batch):
    def body(i, total):
        part = x[i * batch:(i + 1) * batch]  # <--
        return total + part.mean()
    return lax.fori_loop(0, 3, body, 0.0)
result = f(jnp.arange(6.0), 2)
""",
        after_fix=[7.5],
    ),
    Case(
        name="slice_between_names",
        kind="dynamic_slice",
        variable="start",
        source="""
def f(x, width):
    def body(i):
        start = i - 1
        stop = start + 2 * width + 1
        return x[start:stop]  # <--
    return lax.map(body, jnp.arange(1, 3))
result = f(jnp.arange(6.0), 1)
""",
    ),
    Case(
        name="slice_around_a_place",
        kind="dynamic_slice",
        variable="i",
        source="""
@jax.jit
def f(x, i):
    return x[i - 2:i + 2]  # <--
result = f(jnp.arange(6.0), 3)
""",
        after_fix=[no_code, [1.0, 2.0, 3.0, 4.0]],
    ),
    Case(
        name="slice_between_names_that_change",
        kind="dynamic_slice",
        variable="start",
        source="""
@jax.jit
def f(x, i):
    start = i
    i = i + 1
    return x[start:i + 2].sum()  # <--
result = f(jnp.arange(6.0), 1)
""",
        after_fix=[6.0],
    ),
    Case(
        name="mask_too_short",
        kind="mask_of_another_shape",
        variable="keep",
        source="""
prices = jnp.arange(6.0)
keep = jnp.array([True, False, True])
kept = prices[keep]  # <--
""",
    ),
    Case(
        name="mask_too_short_for_its_axis",
        kind="mask_of_another_shape",
        variable="keep",
        source="""
x = jnp.ones((2, 6))
keep = jnp.array([True, False, True])
kept = x[:, keep]  # <--
""",
    ),
]
