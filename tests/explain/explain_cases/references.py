"""Cases of a `jax.Ref` where JAX allows none."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="ref_returned",
        kind="returned_reference",
        variable="total",
        source="""
@jax.jit
def f(x):
    total = jax.new_ref(x)
    total[...] += 1.0
    return total
result = f(1.0)  # <--
""",
        result="result",
        after_fix=[2.0, no_code],
    ),
    Case(
        name="ref_returned_in_a_tuple_from_a_scan",
        kind="returned_reference",
        variable="jax.new_ref(x)",
        source="""
result = lax.scan(lambda c, x: (c + x, jax.new_ref(x)), 0.0, jnp.arange(3.0))  # <--
""",
        result="result[1]",
        after_fix=[[0.0, 1.0, 2.0], no_code],
    ),
    Case(
        name="ref_passed_in_and_returned",
        kind="returned_reference",
        variable="r",
        source="""
@jax.jit
def double(r):
    r[...] = r[...] * 2
    return r
ref = jax.new_ref(3.0)
result = double(ref)  # <--
""",
        result="result",
        after_fix=[6.0, no_code],
    ),
    Case(
        name="ref_differentiated",
        kind="differentiated_reference",
        variable="w",
        source="""
def loss(w, x):
    return (w[...] * x) ** 2
w = jax.new_ref(3.0)
result = jax.grad(loss)(w, 2.0)  # <--
""",
        result="result",
        after_fix=[24.0, no_code],
    ),
    Case(
        name="ref_aliased",
        kind="aliased_reference",
        variable="r",
        source="""
@jax.jit
def copy(target, source):
    target[...] = source[...] * 2
r = jax.new_ref(3.0)
copy(r, r)  # <--
""",
        result="r[...]",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="ref_closed_over_and_passed",
        kind="aliased_reference",
        variable="r",
        source="""
r = jax.new_ref(3.0)
@jax.jit
def add(x):
    r[...] += x[...]
add(r)  # <--
""",
        result="r[...]",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="ref_written_under_vmap",
        kind="reference_shared_by_rows",
        variable="last",
        source="""
last = jax.new_ref(0.0)
def f(x):
    last[...] = x  # <--
    return x * 2
result = jax.vmap(f)(jnp.arange(3.0))
""",
        result="result",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="ref_added_to_under_vmap",
        kind="reference_shared_by_rows",
        variable="total",
        source="""
def f(total, x):
    jax.ref.addupdate(total, ..., x)  # <--
result = jax.vmap(f, in_axes=(None, 0))(jax.new_ref(0.0), jnp.arange(3.0))
""",
        result="result",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="ref_written_under_grad",
        kind="write_of_differentiated_value",
        variable="seen",
        source="""
seen = jax.new_ref(0.0)
def f(x):
    seen[...] = x * 3  # <--
    return x ** 2
result = jax.grad(f)(2.0), seen[...]
""",
        result="result",
        after_fix=[[4.0, 6.0], no_code],
    ),
]
