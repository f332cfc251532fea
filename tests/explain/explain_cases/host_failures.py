"""Cases of host functions that fail while a compiled program runs."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="host_function_of_the_helpers_fails",
        kind="host_function_failed",
        variable="read",
        source="""
from jaxguide.callbacks import host_function
def read(x):
    raise ValueError("no data")  # <--
f = host_function(read, elementwise=True)
jax.block_until_ready(jax.jit(lambda x: f(x) * 2)(jnp.ones(2)))
""",
    ),
    Case(
        name="host_function_fails",
        kind="host_function_failed",
        variable="look_up",
        source="""
def look_up(x):
    return {}["missing"]  # <--
f = jax.jit(lambda x: jax.pure_callback(look_up, x, x))
jax.block_until_ready(f(jnp.ones(2)))
""",
    ),
    Case(
        name="host_function_writes_into_its_argument",
        kind="host_function_failed",
        variable="zero_even",
        source="""
def zero_even(x):
    x[::2] = 0.0  # <--
    return x
f = jax.jit(lambda x: jax.pure_callback(zero_even, x, x))
result = jax.block_until_ready(f(jnp.ones(3)))
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="callback_with_a_keyword_of_old",
        kind="callback_keyword",
        variable="vectorized",
        source="""
def double(x):
    return np.asarray(x) * 2
@jax.jit
def f(x):
    return jax.pure_callback(double, x, x, vectorized=True)  # <--
result = jax.block_until_ready(f(jnp.ones(2)))
""",
        after_fix=[[2.0, 2.0]],
    ),
    Case(
        name="callback_lambda_with_a_keyword_of_old",
        kind="callback_keyword",
        variable="vectorized",
        source="""
@jax.jit
def f(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda x: np.asarray(x) + 1, shape, x, vectorized=False)  # <--
result = jax.block_until_ready(f(jnp.ones(2)))
""",
        after_fix=[[2.0, 2.0]],
    ),
    Case(
        name="host_function_of_the_helpers_fails_in_a_scan",
        kind="host_function_failed",
        variable="read",
        source="""
from jaxguide.callbacks import host_function
def read(x):
    return np.float32({}[float(np.ravel(x)[0])])  # <--
look = host_function(read, out=jax.ShapeDtypeStruct((), jnp.float32), vmap_method="sequential")
squared = host_function(np.square, elementwise=True, derivative=lambda x: look(x))
total = jax.jit(lambda xs: lax.scan(lambda c, x: (c + look(x), None), 0.0, xs)[0])
result = jax.block_until_ready(total(jnp.arange(2.0)))
""",
    ),
    Case(
        name="host_function_of_the_helpers_fails_under_vmap",
        kind="host_function_failed",
        variable="read",
        source="""
from jaxguide.callbacks import host_function
def read(x):
    return np.float32({}[float(np.ravel(x)[0])])  # <--
look = host_function(read, out=jax.ShapeDtypeStruct((), jnp.float32), vmap_method="sequential")
squared = host_function(np.square, elementwise=True, derivative=lambda x: look(x))
result = jax.block_until_ready(jax.jit(jax.vmap(look))(jnp.arange(2.0)))
""",
    ),
    Case(
        name="host_function_of_the_helpers_fails_in_a_gradient",
        kind="host_function_failed",
        variable="read",
        source="""
from jaxguide.callbacks import host_function
def read(x):
    return np.float32({}[float(np.ravel(x)[0])])  # <--
look = host_function(read, out=jax.ShapeDtypeStruct((), jnp.float32), vmap_method="sequential")
squared = host_function(np.square, elementwise=True, derivative=lambda x: look(x))
result = jax.block_until_ready(jax.jit(jax.grad(lambda x: squared(x)))(1.0))
""",
    ),
    Case(
        name="host_error_of_two_lines",
        kind="host_function_failed",
        variable="refuse",
        source="""
def refuse(x):
    raise ValueError("not in\\nthe table")  # <--
f = jax.jit(lambda x: jax.pure_callback(refuse, x, x))
result = jax.block_until_ready(f(jnp.ones(2)))
""",
    ),
    Case(
        name="io_callback_returns_another_dtype",
        kind="host_result",
        variable="measured",
        source="""
from jax.experimental import io_callback
def measured():
    return np.float64(20.5)
@jax.jit
def f():
    return io_callback(measured, jax.ShapeDtypeStruct((), jnp.int32))  # <--
result = jax.block_until_ready(f())
""",
        result="float(result)",
        after_fix=[20.5, 20.0],
    ),
]
