"""Test that no helper shows a source line of another call, which JAX's trace caches may hold."""

import inspect

import jax
import jax.numpy as jnp

from jaxguide.tracing import program, show_lines


@jax.jit
def doubled_sine(x):
    y = jnp.sin(x)
    return y * 2


@jax.custom_vjp
def ruled(x):
    return x * 1.0


def ruled_backward(x, g):
    return (g * doubled_sine(jnp.linalg.norm(x)),)


ruled.defvjp(lambda x: (ruled(x), x), ruled_backward)


def loss_of_another(x):
    return ruled(x).sum()  # of another call


def uses_both(x):
    size = jnp.linalg.norm(x)  # the norm
    return doubled_sine(size)  # the sine


def line_of(mark):
    source, _ = inspect.findsource(inspect.getmodule(line_of))
    return next(i for i, text in enumerate(source, 1) if text.rstrip().endswith(f"# {mark}"))


def test_lines_and_boxes_do_not_depend_on_who_traced_a_function_first():
    jax.clear_caches()
    x = jnp.ones(23)
    jax.grad(loss_of_another)(x)
    text = str(program(uses_both, x))
    assert f"line {line_of('the norm')}" in text
    assert f"line {line_of('of another call')}" not in text
    assert "jit norm x (3 equations inside)" in text  # a library's: one row
    assert "jit doubled_sine: a" in text  # the user's: a box
    made = {row.number: row.primitives for row in show_lines(uses_both, x).rows if row.primitives}
    norm = {"mul": 1, "reduce_sum": 1, "sqrt": 1}
    assert made == {line_of("the norm"): norm, line_of("the sine"): {"sin": 1, "mul": 1}}
