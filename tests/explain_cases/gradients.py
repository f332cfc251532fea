"""Derivatives that do not exist as asked."""

from explain_cases.case import Case

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
        result="result",
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
        result="result",
        after_fix=[[0.0, 2.0, 4.0]],
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
        result="result",
        after_fix=[[0.0, 2.0, 4.0], [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]], [0.0, 2.0, 4.0]],
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
        result="result",
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
        result="result",
        after_fix=[(6.0, 3.0), 6.0],
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
        result="result",
        after_fix=[6.0],
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
        result="result",
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
        result="result",
        after_fix=[[-0.1418170928955078, -0.14077037572860718, 0.2825874090194702], [0.0, 0.0, 0.0]],
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
        result="result",
        after_fix=[6.0],
    ),
    Case(
        name="jacobian_int",
        kind="gradient_of_integers",
        variable="jnp.arange(3)",
        source="""
result = jax.jacfwd(lambda x: x ** 2)(jnp.arange(3))  # <--
""",
        result="result",
        after_fix=[[[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]],
    ),
]
