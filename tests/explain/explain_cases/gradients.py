"""Cases of gradients that do not exist."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="grad_int",
        kind="gradient_of_integers",
        variable="3",
        source="""
def f(x):
    return x ** 2
result = jax.grad(f)(3)  # <--
""",
        after_fix=[6.0],
    ),
    Case(
        name="grad_intarr",
        kind="gradient_of_integers",
        variable="x",
        source="""
def f(x):
    return (x ** 2).sum()
x = jnp.arange(3)
result = jax.grad(f)(x)  # <--
""",
    ),
    Case(
        name="grad_vec",
        kind="gradient_of_many",
        variable="f",
        source="""
def f(x):
    return x ** 2
x = jnp.arange(3.0)
result = jax.grad(f)(x)  # <--
""",
        after_fix=[[0.0, 2.0, 4.0], [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]],
    ),
    Case(
        name="grad_shape1",
        kind="gradient_of_many",
        variable="f",
        source="""
def f(w):
    return w[:1] ** 2
result = jax.grad(f)(jnp.arange(3.0))  # <--
""",
        after_fix=[[0.0, 0.0, 0.0], [[0.0, 0.0, 0.0]]],
    ),
    Case(
        name="grad_tuple",
        kind="gradient_of_tuple",
        variable="loss",
        source="""
def loss(w):
    return w ** 2, w
result = jax.grad(loss)(3.0)  # <--
""",
        after_fix=[no_code, 6.0],
    ),
    Case(
        name="grad_none",
        kind="gradient_of_none",
        variable="loss",
        source="""
def loss(w):
    w ** 2
result = jax.grad(loss)(3.0)  # <--
""",
    ),
    Case(
        name="grad_complexout",
        kind="gradient_complex",
        variable="f",
        source="""
def f(x):
    return jnp.exp(1j * x)
result = jax.grad(f)(1.0)  # <--
""",
        after_fix=[-2.0481493834267894e-08, (-0.8414709568023682 + 0.5403022766113281j)],
    ),
    Case(
        name="grad_intout",
        kind="gradient_integer_result",
        variable="f",
        source="""
def f(x):
    return jnp.argmax(x)
result = jax.grad(f)(jnp.arange(3.0))  # <--
""",
    ),
    Case(
        name="grad_argnums",
        kind="argnums_too_large",
        variable="argnums",
        source="""
def f(x):
    return x ** 2
result = jax.grad(f, argnums=1)(3.0)  # <--
""",
        after_fix=[6.0],
    ),
    Case(
        name="jacobian_int",
        kind="gradient_of_integers",
        variable="jnp.arange(3)",
        source="""
result = jax.jacfwd(lambda x: x ** 2)(jnp.arange(3))  # <--
""",
    ),
    Case(
        name="grad_integer_leaf",
        kind="gradient_of_integers",
        variable="params['n']",
        source="""
def loss(p):
    return p["w"] ** 2 * p["n"]
params = {"w": 1.0, "n": 3}
result = jax.grad(loss)(params)  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="grad_integer_leaf_of_a_tree",
        kind="gradient_of_integers",
        variable="params['layer']['b']",
        source="""
def loss(p, x):
    return (p["layer"]["w"] * p["layer"]["b"]).sum() * x
def start():
    return {"layer": {"w": jnp.ones(2), "b": jnp.array([1, 2])}}
params = start()
step = jax.jit(jax.grad(loss))
result = step(params, 2.0)["layer"]  # <--
""",
        after_fix=[no_code, no_code, no_code],
    ),
    Case(
        name="grad_integer_array_in_a_dict",
        kind="gradient_of_integers",
        variable='{"w": jnp.arange(3)}',
        source="""
def loss(p):
    return (p["w"] ** 2).sum()
result = jax.grad(loss)({"w": jnp.arange(3)})  # <--
""",
    ),
    Case(
        name="grad_integer_by_the_second_argnum",
        kind="gradient_of_integers",
        variable="n",
        source="""
n = 3
result = jax.grad(lambda x, y: x * y, (0, 1))(2.0, n)  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="jit_of_grad_of_many",
        kind="gradient_of_many",
        variable="f",
        source="""
def f(x):
    return x ** 2
result = jax.jit(jax.grad(f))(jnp.arange(3.0))  # <--
""",
        after_fix=[[0.0, 2.0, 4.0], [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]],
    ),
    Case(
        name="grad_at_a_complex_number",
        kind="gradient_complex",
        variable="f",
        source="""
def f(z):
    return z ** 2
result = jax.grad(f)(1j)  # <--
""",
        after_fix=[-2j, 2j],
    ),
    Case(
        name="grad_at_a_complex_sum",
        kind="gradient_complex",
        variable="f",
        source="""
def f(z):
    return z ** 2
result = jax.grad(f)(1.0 + 2j)  # <--
""",
        after_fix=[2 - 4j, 2 + 4j],
    ),
    Case(
        name="rev_while",
        kind="reverse_through_while",
        variable="x",
        source="""
def f(x):
    return lax.while_loop(lambda c: c < 10, lambda c: c * 2, x)  # <--
result = jax.grad(f)(1.0)
""",
        after_fix=[16.0, 16.0],
    ),
    Case(
        name="rev_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.grad(f)(2.0, 3)
""",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="fori_rev_body",
        kind="reverse_through_while",
        variable="n",
        source="""
def power(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.grad(jax.jit(power))(2.0, 3)
""",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="jit_of_grad_through_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.jit(jax.grad(f))(2.0, 3)
""",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="jit_of_value_and_grad_through_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
g = jax.jit(jax.value_and_grad(f))
result = g(2.0, 3)
""",
        after_fix=[(8.0, 12.0)],
    ),
    Case(
        name="jit_of_grad_of_a_lambda_through_fori",
        kind="reverse_through_while",
        variable="n",
        source="""
g = jax.jit(jax.grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, 1.0)))  # <--
result = g(2.0, 3)
""",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="jitted_again_around_grad",
        kind="reverse_through_while",
        variable="n",
        source="""
@jax.jit
def f(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)  # <--
result = jax.jit(jax.grad(f))(2.0, 3)
""",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="gradient_of_a_list",
        kind="gradient_of_integers",
        variable="[1, 2.0]",
        source="""
result = jax.grad(lambda w: w[0] * w[1])([1, 2.0])  # <--
""",
    ),
]
