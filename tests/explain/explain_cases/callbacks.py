"""Cases of callbacks under transformations."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="cb_nojvp",
        kind="callback_without_derivative",
        variable="x",
        source="""
def host(x):
    return np.sin(x)
def f(x):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # <--
result = jax.grad(f)(jnp.float32(1.0))
""",
        result="result",
        after_fix=[no_code, no_code, no_code],
    ),
    Case(
        name="cb_vmap",
        kind="callback_without_vmap_method",
        variable="host",
        source="""
def host(x):
    return np.sin(x)
def f(x):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # <--
result = jax.vmap(f)(jnp.arange(3.0))
""",
        result="result",
        after_fix=[[0.0, 0.8414710164070129, 0.9092974066734314], no_code],
    ),
    Case(
        name="cb_wrongshape",
        kind="host_result",
        variable="host",
        source="""
def host(x):
    return np.zeros(3, np.float32)
@jax.jit
def f(x):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # <--
result = f(jnp.arange(2.0))
""",
        result="result",
        after_fix=[[0.0, 0.0, 0.0]],
    ),
    Case(
        name="io_vmap",
        kind="ordered_callback_under_vmap",
        variable="log",
        source="""
from jax.experimental import io_callback
def log(x):
    print(x)
def f(x):
    io_callback(log, None, x, ordered=True)  # <--
    return x
result = jax.vmap(f)(jnp.arange(3.0))
""",
        result="result",
        after_fix=[[0.0, 1.0, 2.0], no_code],
    ),
    Case(
        name="io_grad",
        kind="io_callback_without_derivative",
        variable="x",
        source="""
from jax.experimental import io_callback
def host(x):
    return np.sin(x)
def f(x):
    return io_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # <--
result = jax.grad(f)(1.0 * jnp.ones(()))
""",
        result="result",
        after_fix=[no_code, no_code, no_code],
    ),
    Case(
        name="io_vmapcond",
        kind="io_callback_in_batched_cond",
        variable="x > 0",
        source="""
from jax.experimental import io_callback
def f(x):
    def yes(x):
        io_callback(print, None, x)
        return x
    return lax.cond(x > 0, yes, lambda x: x, x)  # <--
result = jax.vmap(f)(jnp.arange(3.0))
""",
        result="result",
    ),
    Case(
        name="io_vmap_while",
        kind="io_callback_in_batched_loop",
        variable="x",
        source="""
from jaxguide.callbacks import io_function
read = io_function(lambda x: x, out=lambda x: x, ordered=False)
def f(x):
    return lax.while_loop(lambda c: c < 3, lambda c: c + read(c), x)  # <--
result = jax.vmap(f)(jnp.arange(1.0, 3.0))
""",
        result="result",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="io_vmap_ordered_while",
        kind="io_callback_in_batched_loop",
        variable="x",
        source="""
from jax.experimental import io_callback
def f(x):
    return lax.while_loop(lambda c: c < 3, lambda c: c + io_callback(lambda x: x, c, c, ordered=True), x)  # <--
result = jax.vmap(f)(jnp.arange(1.0, 3.0))
""",
        result="result",
        after_fix=[no_code, no_code],
    ),
]
