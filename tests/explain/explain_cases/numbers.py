"""Traced values where Python or NumPy needs a number."""

from explain_cases.case import Case, no_edits

CASES = [
    Case(
        name="range",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    for i in range(n):  # <--
        x = x + i
    return x
result = f(1.0, 3)
""",
        result="result",
        after_fix=[4.0, 4.0],
    ),
    Case(
        name="list_index",
        kind="list_index_of_tracer",
        variable="i",
        source="""
layers = [1.0, 2.0, 3.0]
@jax.jit
def f(x, i):
    return x * layers[i]  # <--
result = f(1.0, 2)
""",
        result="result",
        after_fix=[3.0, 3.0],
    ),
    Case(
        name="np_index",
        kind="numpy_index_of_tracer",
        variable="i",
        source="""
table = np.array([1.0, 2.0, 3.0])
@jax.jit
def f(x, i):
    return x * table[i]  # <--
result = f(1.0, 2)
""",
        result="result",
        after_fix=[3.0, 3.0],
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
        after_fix=[2.0, 2.0],
    ),
    Case(
        name="np_on_tracer",
        kind="numpy_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return np.sin(x)  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[0.8414709568023682, no_edits],
    ),
    Case(
        name="np_on_tracer2",
        kind="numpy_on_tracer",
        variable="y",
        source="""
@jax.jit
def f(x):
    y = x * 2
    return np.asarray(y)  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[2.0, no_edits],
    ),
    Case(
        name="math",
        kind="math_on_tracer",
        variable="x",
        source="""
import math
@jax.jit
def f(x):
    return math.sin(x)  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[0.8414709568023682],
    ),
    Case(
        name="float",
        kind="number_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return float(x) * 2  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="int",
        kind="number_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    n = int(x)  # <--
    return jnp.zeros(n)
result = f(3)
""",
        result="result",
        after_fix=[[0.0, 0.0, 0.0]],
    ),
    Case(
        name="item",
        kind="item_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return x.sum().item()  # <--
result = f(jnp.ones(3))
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="tolist",
        kind="item_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return x.tolist()  # <--
result = f(jnp.ones(3))
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="complex",
        kind="number_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return complex(x)  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[(1 + 0j)],
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
        name="range_two",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def fib(n):
    a, b = 0, 1
    for _ in range(n):  # <--
        a, b = b, a + b
    return a
result = fib(10)
""",
        result="result",
        after_fix=[55, 55],
    ),
    Case(
        name="switch_list",
        kind="list_index_of_tracer",
        variable="i",
        source="""
funs = [jnp.sin, jnp.cos]
@jax.jit
def f(i, x):
    return funs[i](x)  # <--
result = f(1, 0.0)
""",
        result="result",
        after_fix=[1.0, 1.0],
    ),
    Case(
        name="np_linalg",
        kind="numpy_on_tracer",
        variable="w",
        source="""
@jax.jit
def f(w):
    return np.linalg.norm(w)  # <--
result = f(jnp.ones((2, 2)))
""",
        result="result",
        after_fix=[2.0, no_edits],
    ),
]
