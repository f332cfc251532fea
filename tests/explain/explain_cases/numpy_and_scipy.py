"""Cases of NumPy and SciPy functions that get a traced value or size."""

from explain_cases.case import Case, no_code

CASES = [
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
        after_fix=[0.8414709568023682, no_code],
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
        after_fix=[2.0, no_code],
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
        after_fix=[2.0, no_code],
    ),
    Case(
        name="numpy_random_size",
        kind="numpy_size_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return (x + np.random.normal(size=n)).shape[0] * x  # <--
result = f(1.0, 3)
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="numpy_generator_size",
        kind="numpy_size_of_tracer",
        variable="n",
        source="""
rng = np.random.default_rng(0)
@jax.jit
def f(n):
    return rng.uniform(size=n)  # <--
result = f(3)
""",
        result="result.shape",
        after_fix=[(3,)],
    ),
    Case(
        name="numpy_zeros_size",
        kind="numpy_size_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(n):
    return np.zeros(n) + 1.0  # <--
result = f(2)
""",
        result="result",
        after_fix=[[1.0, 1.0]],
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
    ),
]
