"""Cases of values of the wrong type."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="list_mul",
        kind="list_times_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jnp.array([1.0] * n) * x  # <--
result = f(1.0, 2)
""",
        result="result",
        after_fix=[[1.0, 1.0], no_code],
    ),
    Case(
        name="lax_add_arr",
        kind="lax_dtypes",
        variable="x",
        source="""
x = jnp.arange(3)
y = jnp.ones(3)
result = lax.mul(x, y)  # <--
""",
        result="result",
        after_fix=[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]],
    ),
    Case(
        name="jnp_list",
        kind="list_for_array",
        variable="[1.0, 2.0]",
        source="""
result = jnp.sin([1.0, 2.0])  # <--
""",
        result="result",
        after_fix=[[0.8414709568023682, 0.9092974066734314]],
    ),
    Case(
        name="jnp_sum_list",
        kind="list_for_array",
        variable="[1.0, 2.0]",
        source="""
result = jnp.sum([1.0, 2.0])  # <--
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="add_list",
        kind="list_for_array",
        variable="[1.0, 2.0]",
        source="""
x = jnp.ones(2)
result = x + [1.0, 2.0]  # <--
""",
        result="result",
        after_fix=[[2.0, 3.0]],
    ),
    Case(
        name="iter_tracer",
        kind="scalar_iteration",
        variable="x",
        source="""
@jax.jit
def f(x):
    return [a for a in x]  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[[1.0]],
    ),
    Case(
        name="iter_scalar",
        kind="scalar_iteration",
        variable="x",
        source="""
x = jnp.float32(1)
for a in x: pass  # <--
""",
        result="x",
        after_fix=[1.0],
    ),
    Case(
        name="hash_arr",
        kind="array_as_key",
        variable="x",
        source="""
x = jnp.ones(3)
d = {x: 1}  # <--
""",
        result="list(d)",
        after_fix=[[(1.0, 1.0, 1.0)]],
    ),
    Case(
        name="np_random_key",
        kind="shape_without_tuple",
        variable="3",
        source="""
result = jax.random.uniform(jax.random.key(0), 2, 3)  # <--
""",
        result="result.shape",
        after_fix=[(2, 3)],
    ),
    Case(
        name="zeros_two",
        kind="shape_without_tuple",
        variable="3",
        source="""
result = jnp.zeros(2, 3)  # <--
""",
        result="result",
        after_fix=[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]],
    ),
    Case(
        name="none_from_function",
        kind="none_for_array",
        variable="x",
        source="""
def scale(x):
    y = 2 * x
x = scale(jnp.ones(2))
result = jnp.sum(x)  # <--
""",
        result="result",
    ),
    Case(
        name="grad_str",
        kind="differentiated_no_array",
        variable="'a'",
        source="""
def f(cfg, x):
    return x ** 2
result = jax.grad(f)('a', 3.0)  # <--
""",
        result="result",
    ),
    Case(
        name="vmap_str",
        kind="mapped_no_array",
        variable="'relu'",
        source="""
def f(a, mode):
    return a
result = jax.vmap(f)(jnp.ones(3), 'relu')  # <--
""",
        result="result",
    ),
    Case(
        name="dict_stored_by_a_tracer",
        kind="dict_key_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    cache = {}
    cache[x] = x * 2  # <--
    return cache[x]
result = f(1.0)
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="dict_by_a_computed_number",
        kind="dict_key_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    prices = {3: 1.0, 7: 2.0}
    return prices[x[0] + 1]  # <--
result = f(jnp.array([2]))
""",
        result="result",
    ),
    Case(
        name="set_of_tracers",
        kind="dict_key_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x, y):
    return len({x, y}) * x  # <--
result = f(1.0, 2.0)
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="dict_made_from_a_traced_array",
        kind="dict_key_of_tracer",
        variable="v",
        source="""
@jax.jit
def f(x):
    seen = {}
    for v in x:
        seen[v] = 1.0  # <--
    return len(seen)
result = f(jnp.arange(2))
""",
        result="result",
    ),
    Case(
        name="dict_key",
        kind="dict_key_of_tracer",
        variable="i",
        source="""
table = {0: 1.0, 1: 2.0}
@jax.jit
def f(x, i):
    return x * table[i]  # <--
result = f(1.0, 1)
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="hash_tracer",
        kind="dict_key_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    cache = {x: 1}  # <--
    return x
result = f(1.0)
""",
        result="result",
        after_fix=[1.0],
    ),
    Case(
        name="dataclass_under_grad",
        kind="object_no_pytree",
        variable="P(jnp.ones(2))",
        source="""
from dataclasses import dataclass
@dataclass
class P:
    w: jax.Array
    b: float = 0.0

def f(p, x): return (p.w * x).sum() + p.b
result = jax.grad(f)(P(jnp.ones(2)), 2.0).w  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0]],
    ),
]
