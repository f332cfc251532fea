"""Test the tracing helpers on training steps of about 1,000 equations: counts of work, folding, and what they find."""

import collections
import dataclasses
import functools
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.tracing import program, show_lines, side_effects

pytestmark = pytest.mark.long

LAYERS = 9
log: list = []
ticks = itertools.count()


@functools.partial(jax.tree_util.register_dataclass, data_fields=["x", "extra"], meta_fields=["names"])
@dataclasses.dataclass
class Hidden:
    x: jax.Array
    extra: jax.Array = dataclasses.field(default_factory=functools.partial(jnp.ones, 3))
    names: tuple = ()


Moments = collections.namedtuple("Moments", ["m", "v"])  # generated in another way than a dataclass


def block(layer, hidden):
    x = hidden.x - hidden.x.mean(-1, keepdims=True)
    y = layer["scale"] * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    return Hidden(hidden.x + jnp.tanh(y @ layer["w"] + layer["b"]))


def loss(params, batch):
    hidden = Hidden(batch)
    for layer in params["layers"]:
        hidden = block(layer, hidden)
    return jnp.mean(hidden.x**2)


def move(p, m, v):
    return p - 1e-3 * (m / (1 - 0.9)) / (jnp.sqrt(v / (1 - 0.999)) + 1e-8)


def adam(params, grads, state):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state.v, grads)
    return jax.tree.map(move, params, m, v), Moments(m, v)


def train_step(params, state, batch):
    next(ticks)
    value, grads = jax.value_and_grad(loss)(params, batch)
    params, state = adam(params, grads, state)
    return params, state, value


def arguments(layers=LAYERS):
    params = {"layers": [{"w": jnp.ones((8, 8)), "b": jnp.ones(8), "scale": jnp.ones(8)} for _ in range(layers)]}
    return params, Moments(params, params), jnp.ones((4, 8))


def times(helper):
    """Return how often the helper runs the training step, and what it returns."""
    before = next(ticks)
    result = helper(train_step, *arguments())
    return next(ticks) - before - 1, result


def test_each_helper_traces_once_and_side_effects_twice():
    assert [times(helper)[0] for helper in (program, show_lines, side_effects)] == [1, 1, 2]
    assert 700 < program(train_step, *arguments()).equations < 1300


def count_and_keep(params, state, batch):
    hidden = Hidden(batch)
    log.append(hidden)
    np.random.seed(len(log))
    print("tracing")
    return train_step(params, state, batch)


def test_side_effects_of_a_large_program_are_found_at_their_lines():
    found = side_effects(count_and_keep, *arguments())
    first = count_and_keep.__code__.co_firstlineno
    assert [(effect.kind, effect.line) for effect in found] == [
        ("random", None),
        ("leak", None),
        ("print", f"test_large_programs.py, line {first + 4}"),
    ]
    assert log == []


def test_a_line_behind_generated_code_is_the_users():
    def f(x):
        return Hidden(x).extra * 2

    assert re.findall(r"\S+, line", str(program(f, 1.0))) == ["test_large_programs.py, line"]


def test_a_large_program_is_drawn_on_40_rows_with_the_users_functions():
    text = str(program(train_step, *arguments()))
    lines = text.splitlines()
    assert len(lines) <= 41
    assert max(map(len, lines)) <= 180
    assert lines[1].split("  ")[1] == f"params['layers']: {3 * LAYERS} arrays"
    assert f"return [1].m['layers']: {3 * LAYERS} arrays" in text
    assert {"block", "move"} <= set(re.findall(r"\.\.\. \d+ equations in `(\w+)`", text))
    # Each equation is in a row.
    shown = sum(bool(re.match(r" +[a-z]+ = ", line)) for line in lines)
    hidden = sum(map(int, re.findall(r"\.\.\. (\d+) equation", text)))
    assert shown + hidden == program(train_step, *arguments()).equations


def chained(*xs):
    return [x + 1 for x in xs]


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (chained, tuple(map(float, range(300)))),
        (lambda tree: tree, ({f"a{i}": {"b": [1.0, 2.0]} for i in range(100)},)),
        (lambda x: [x * np.full(4, i, np.float32) for i in range(100)], (jnp.ones(4),)),
        (lambda x: [jax.jit(lambda y: jnp.sin(y) * 2)(x + i) for i in range(100)], (1.0,)),
        (lambda i, x: jax.lax.switch(i, [lambda x, n=n: jnp.sin(x) + n for n in range(80)], x), (jnp.int32(0), 1.0)),
    ],
    ids=["arguments", "leaves", "constants", "calls", "branches"],
)
def test_no_picture_has_more_than_60_rows(fn, args):
    picture = program(fn, *args)
    assert len(str(picture).splitlines()) <= 61
    assert max(map(len, str(picture).splitlines())) <= 200
    assert f": {program(fn, *args).equations} equation" in str(picture).splitlines()[0]
