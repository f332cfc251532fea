"""Cases of rules of `custom_jvp` and `custom_vjp` that take or return the wrong parts."""

from explain_cases.case import Case

CASES = [
    Case(
        name="cvjp_bwd_fewer",
        kind="backward_rule_count",
        variable="bwd",
        source="""
@jax.custom_vjp
def f(x, y):
    return x * y
def fwd(x, y):
    return x * y, (x, y)
def bwd(res, g):
    x, y = res
    return (g * y,)  # <--
f.defvjp(fwd, bwd)
result = jax.grad(f)(1.0, 2.0)
""",
    ),
    Case(
        name="cvjp_bwd_single",
        kind="backward_rule_count",
        variable="bwd",
        source="""
@jax.custom_vjp
def f(x, y):
    return x * y
def fwd(x, y):
    return x * y, (x, y)
def bwd(res, g):
    x, y = res
    return g * y  # <--
f.defvjp(fwd, bwd)
result = jax.grad(f)(1.0, 2.0)
""",
    ),
    Case(
        name="cvjp_bwd_more",
        kind="backward_rule_count",
        variable="bwd",
        source="""
@jax.custom_vjp
def f(x):
    return x * 2
def fwd(x):
    return x * 2, None
def bwd(res, g):
    return g * 2, None  # <--
f.defvjp(fwd, bwd)
result = jax.grad(f)(1.0)
""",
    ),
    Case(
        name="cvjp_nondiff",
        kind="rule_arguments",
        variable="bwd",
        source="""
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def apply(fn, x):
    return fn(x)
def fwd(fn, x):
    return fn(x), x
def bwd(res, g):  # <--
    return (g * jnp.cos(res),)
apply.defvjp(fwd, bwd)
result = jax.grad(lambda x: apply(jnp.sin, x))(1.0)
""",
        after_fix=[0.5403],
    ),
    Case(
        name="cvjp_nondiff_bwd_returns_all",
        kind="backward_rule_count",
        variable="bwd",
        source="""
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(x, n):
    return x ** n
def fwd(x, n):
    return x ** n, x
def bwd(n, x, g):
    return g * n * x ** (n - 1), None  # <--
scaled.defvjp(fwd, bwd)
result = jax.grad(scaled)(2.0, 3)
""",
    ),
    Case(
        name="cvjp_fwd_no_pair",
        kind="forward_rule_pair",
        variable="fwd",
        source="""
@jax.custom_vjp
def f(x):
    return jnp.sin(x)
def fwd(x):
    return jnp.sin(x)  # <--
def bwd(res, g):
    return (g,)
f.defvjp(fwd, bwd)
result = jax.grad(f)(1.0)
""",
    ),
    Case(
        name="cvjp_fwd_triple",
        kind="forward_rule_pair",
        variable="fwd",
        source="""
@jax.custom_vjp
def f(x, y):
    return x * y
def fwd(x, y):
    return x * y, x, y  # <--
def bwd(res, g):
    x, y = res
    return g * y, g * x
f.defvjp(fwd, bwd)
result = jax.grad(f)(1.0, 2.0)
""",
    ),
    Case(
        name="cvjp_bwd_shape",
        kind="backward_rule_type",
        variable="bwd",
        source="""
@jax.custom_vjp
def f(x):
    return jnp.sum(x ** 2)
def fwd(x):
    return jnp.sum(x ** 2), x
def bwd(x, g):
    return (2 * g * x.sum(),)  # <--
f.defvjp(fwd, bwd)
result = jax.grad(f)(jnp.ones(3))
""",
    ),
    Case(
        name="cvjp_bwd_args",
        kind="rule_arguments",
        variable="bwd",
        source="""
@jax.custom_vjp
def f(x):
    return x ** 2
def fwd(x):
    return x ** 2, (x,)
def bwd(x, y, g):  # <--
    return (2 * g * x,)
f.defvjp(fwd, bwd)
result = jax.grad(f)(1.0)
""",
    ),
    Case(
        name="cjvp_tangent_only",
        kind="tangent_rule_pair",
        variable="f_jvp",
        source="""
@jax.custom_jvp
def f(x):
    return jnp.sin(x)
@f.defjvp
def f_jvp(primals, tangents):
    x, = primals
    t, = tangents
    return jnp.cos(x) * t  # <--
result = jax.grad(f)(1.0)
""",
        after_fix=[0.5403],
    ),
    Case(
        name="cjvp_nonlinear",
        kind="rule_not_linear",
        variable="f_jvp",
        source="""
@jax.custom_jvp
def f(x):
    return jnp.sin(x)
@f.defjvp
def f_jvp(primals, tangents):
    x, = primals
    t, = tangents
    return jnp.sin(x), jnp.cos(x) * t * t  # <--
result = jax.grad(f)(1.0)
""",
    ),
    Case(
        name="cjvp_nonlinear_sin",
        kind="rule_not_linear",
        variable="f_jvp",
        source="""
@jax.custom_jvp
def f(x):
    return jnp.sin(x)
@f.defjvp
def f_jvp(primals, tangents):
    x, = primals
    t, = tangents
    return jnp.sin(x), jnp.sin(t)  # <--
result = jax.grad(f)(1.0)
""",
    ),
    Case(
        name="cjvp_shape",
        kind="tangent_rule_type",
        variable="f_jvp",
        source="""
@jax.custom_jvp
def f(x):
    return jnp.sum(x ** 2)
@f.defjvp
def f_jvp(primals, tangents):
    x, = primals
    t, = tangents
    return jnp.sum(x ** 2), 2 * x * t  # <--
result = jax.grad(f)(jnp.ones(3))
""",
    ),
    Case(
        name="cjvp_nondiff",
        kind="rule_arguments",
        variable="app_jvp",
        source="""
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def app(fn, x):
    return fn(x)
@app.defjvp
def app_jvp(primals, tangents):  # <--
    fn, x = primals
    return fn(x), tangents[1]
result = jax.grad(lambda x: app(jnp.sin, x))(1.0)
""",
    ),
    Case(
        name="cjvp_unpack",
        kind="rule_arguments",
        variable="f_jvp",
        source="""
@jax.custom_jvp
def f(x, y):
    return x * y
@f.defjvp
def f_jvp(x, y, t):  # <--
    return x * y, t
result = jax.grad(f)(1.0, 2.0)
""",
    ),
    Case(
        name="nondiff_tracer",
        kind="nondiff_of_tracer",
        variable="lo",
        source="""
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def clip(x, lo):
    return jnp.maximum(x, lo)
def fwd(x, lo):
    return jnp.maximum(x, lo), x > lo
def bwd(lo, m, g):
    return (g * m,)
clip.defvjp(fwd, bwd)
result = jax.jit(jax.grad(lambda x, lo: clip(x, lo)))(1.0, 0.5)  # <--
""",
    ),
    Case(
        name="cvjp_fwd_returns_more",
        kind="forward_rule_output",
        variable="fwd",
        source="""
@jax.custom_vjp
def norm(x):
    return parts(x)[0]
def parts(x):
    return x / x.sum(), x.sum()
def fwd(x):
    return parts(x), x  # <--
def bwd(x, g):
    return (g,)
norm.defvjp(fwd, bwd)
result = jax.grad(lambda x: norm(x).sum())(jnp.ones(2))
""",
    ),
    Case(
        name="cvjp_fwd_calls_its_function",
        kind="forward_rule_calls_its_function",
        variable="energy",
        source="""
@jax.custom_vjp
def energy(x):
    return x**2
energy.defvjp(lambda x: (energy(x), x), lambda x, g: (g * 2 * x,))  # <--
result = jax.hessian(energy)(1.0)
""",
    ),
]
