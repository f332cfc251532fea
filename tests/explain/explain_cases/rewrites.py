"""Tests, lists, prints and functions of SciPy that a plain replacement would not mend."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="chained_comparison_of_an_array",
        kind="several_truth_values",
        variable="x",
        source="""
x = jnp.array([-1.0, 0.5])
result = jnp.where(0 < x < 1, x, 0.0)  # <--
""",
        result="result",
        after_fix=[[0.0, 0.5]],
    ),
    Case(
        name="and_of_arrays",
        kind="several_truth_values",
        variable="x",
        source="""
x = jnp.array([-1.0, 0.5])
result = jnp.where(x > 0 and x < 1, x, 0.0)  # <--
""",
        result="result",
        after_fix=[[0.0, 0.5]],
    ),
    Case(
        name="recursion",
        kind="if_on_tracer",
        variable="n",
        source="""
@jax.jit
def rec(n):
    if n <= 1: return 1  # <--
    return n * rec(n - 1)
result = rec(5)
""",
        result="result",
        after_fix=[120, no_code],
    ),
    Case(
        name="recursion_in_an_expression",
        kind="if_on_tracer",
        variable="n",
        source="""
def rec(n):
    return 1 if n <= 1 else n * rec(n - 1)  # <--
result = jax.jit(rec)(5)
""",
        result="result",
        after_fix=[120, no_code],
    ),
    Case(
        name="break_in_a_loop",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def halve(x, small):
    for i in range(10):
        x = x / 2
        if jnp.abs(x).max() < small:  # <--
            break
    return x
result = halve(jnp.ones(3), 0.1)
""",
        result="result",
        after_fix=[no_code],
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
        name="scipy_special",
        kind="scipy_on_tracer",
        variable="x",
        source="""
import scipy.special
@jax.jit
def f(x):
    return scipy.special.gammaln(x)  # <--
result = f(2.0)
""",
        result="result",
        after_fix=[0.0],
    ),
    Case(
        name="scipy_linalg_imported",
        kind="scipy_on_tracer",
        variable="x",
        source="""
from scipy.linalg import expm
@jax.jit
def f(x):
    return expm(x)  # <--
result = f(jnp.zeros((1, 1)))
""",
        result="result",
        after_fix=[[[1.0]]],
    ),
    Case(
        name="scipy_ufunc_that_jax_lacks",
        kind="scipy_on_tracer",
        variable="x",
        source="""
from scipy import special
@jax.jit
def f(x):
    return special.jv(1, x)  # <--
result = f(2.0)
""",
        result="result",
        after_fix=[0.5767248],
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
        after_fix=[no_code],
    ),
    Case(
        name="if_prints",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if x > 0: print('positive', x)  # <--
    return x
result = f(1.0)
""",
        result="result",
        after_fix=[1.0],
    ),
]
