"""Cases of traced values where Python needs a number."""

from explain_cases.case import Case, no_code

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
        after_fix=[1.0, no_code],
    ),
    Case(
        name="float_in_a_list",
        kind="number_of_tracer",
        variable="v",
        source="""
@jax.jit
def f(x):
    return sum([float(v) for v in x])  # <--
result = f(jnp.ones(3))
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="range_of_a_sum",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    s = 0.0
    for i in range(x.shape[0] + n):  # <--
        s = s + i
    return s
result = f(jnp.ones(3), 2)
""",
        result="result",
        after_fix=[10.0, 10.0],
    ),
    Case(
        name="range_of_a_product",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    for i in range(2 * n):  # <--
        x = x + 1.0
    return x
result = f(1.0, 2)
""",
        result="result",
        after_fix=[5.0, 5.0],
    ),
    Case(
        name="range_of_a_maximum",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    s = 0
    for i in range(jnp.max(x) + 1):  # <--
        s = s + i
    return s
result = f(jnp.array([1, 3]))
""",
        result="result",
        after_fix=[6],
    ),
    Case(
        name="range_of_int_of_an_entry",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    s = 0.0
    for i in range(int(x[0])):  # <--
        s = s + i
    return s
result = f(jnp.array([3.0, 1.0]))
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="range_of_int_and_one",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    s = 0.0
    for i in range(1, int(x[0]) + 1):  # <--
        s = s + i
    return s
result = f(jnp.array([3.0, 1.0]))
""",
        result="result",
        after_fix=[6.0],
    ),
    Case(
        name="range_of_a_traced_float",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    for i in range(2 * n):  # <--
        x = x * 2.0
    return x
result = f(1.0, 2.0)
""",
        result="result",
        after_fix=[16.0],
    ),
    Case(
        name="range_of_an_array_of_one_float",
        kind="range_of_float",
        variable="n",
        source="""
n = jnp.float32(3)
result = [i for i in range(n)]  # <--
""",
        result="result",
        after_fix=[[0, 1, 2]],
    ),
    Case(
        name="range_that_collects",
        kind="range_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    rows = []
    for i in range(x[0] + 1):  # <--
        rows.append(x * i)
    return jnp.stack(rows)
result = f(jnp.array([3, 1]))
""",
        result="result",
    ),
    Case(
        name="range_in_a_comprehension",
        kind="range_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return jnp.stack([x + i for i in range(2 * n)])  # <--
result = f(1.0, 2)
""",
        result="result",
        after_fix=[[1.0, 2.0, 3.0, 4.0]],
    ),
    Case(
        name="list_of_texts",
        kind="list_index_of_tracer",
        variable="i",
        source="""
names = ['relu', 'tanh']
@jax.jit
def act(x, i):
    return jnp.maximum(x, 0) if names[i] == 'relu' else jnp.tanh(x)  # <--
result = act(1.0, 0)
""",
        result="result",
        after_fix=[1.0, no_code],
    ),
    Case(
        name="scipy_quad",
        kind="scipy_on_tracer",
        variable="a",
        source="""
import scipy.integrate
@jax.jit
def f(a):
    return scipy.integrate.quad(lambda t: t * a, 0, 1)[0]  # <--
result = f(2.0)
""",
        result="result",
    ),
]
