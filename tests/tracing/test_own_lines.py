"""Test that no helper shows a source line of another call, which JAX's trace caches may hold."""

import functools
import inspect

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxguide.jaxpr.own_lines import with_own_lines
from jaxguide.tracing import program, show_lines
from jaxguide.tracing.fresh_trace import nothing_remembered


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
    lines = {use.line.number for use in program(uses_both, x).lines}
    assert line_of("of another call") not in lines
    assert line_of("the norm") in lines
    text = str(program(uses_both, x).drawing)
    assert f"line {line_of('of another call')}" not in text
    assert "jit norm x (3 equations inside)" in text  # a library's: one row
    assert "jit doubled_sine: a" in text  # the user's: a box
    made = {row.number: row.primitives for row in show_lines(uses_both, x).rows if row.primitives}
    norm = {"mul": 1, "reduce_sum": 1, "sqrt": 1}
    assert made == {line_of("the norm"): norm, line_of("the sine"): {"sin": 1, "mul": 1}}


def twice(fn):
    @functools.wraps(fn)
    def wrapper(x):
        y = fn(x)
        return y * y

    return wrapper


@jax.jit
@twice
def decorated(x):
    return jnp.cos(x)


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return jnp.tanh(self.scale * x)


PROGRAMS = {
    "jit": doubled_sine,
    "grad": jax.grad(lambda x: doubled_sine(x).sum()),
    "decorator": decorated,
    "object": jax.jit(Scaled(2.0)),
    "partial": jax.jit(functools.partial(lambda a, x: a * jnp.sin(x), 2.0)),
    "scan": jax.grad(lambda x: lax.scan(lambda c, a: (c * doubled_sine(a), c * a), 1.0, x)[0]),
    "while": lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + doubled_sine(c), x),
    "cond": jax.grad(lambda x: lax.cond(x.sum() > 0, doubled_sine, lambda x: jnp.sin(x * 3), x).sum()),
    "checkpoint": jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(doubled_sine(x)))(x).sum()),
    "piecewise": lambda x: jnp.piecewise(x, [x < 2, x >= 2], [lambda v: v * doubled_sine(v), lambda v: -v * v]),
    "map": lambda x: lax.map(doubled_sine, x),
    "vmap": jax.jit(jax.vmap(lambda a: a * doubled_sine(a))),
    "branch under vmap": jax.jit(jax.vmap(lambda a: a * lax.cond(a > 0, lambda b: jnp.sin(b), lambda b: 0.0, a))),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_without_such_lines_stays_the_same(kind):
    with nothing_remembered():
        jaxpr = jax.make_jaxpr(PROGRAMS[kind])(jnp.ones(4))
    assert with_own_lines(jaxpr) is jaxpr
