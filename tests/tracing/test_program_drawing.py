"""Test drawings of programs: rows in program order, boxes for nesting, and folding of long ones."""

import re
from html import escape
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxguide.tracing import program


def line_number(words):
    lines = Path(__file__).read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(words)]
    return number


def normal(text):
    """Return the rows with exactly two spaces between columns."""
    return [re.sub(r" {2,}", "  ", line.strip()) for line in text.splitlines()]


@jax.jit
def squash(x):
    y = jnp.where(x > 0, x, 0.5 * x)
    return jnp.tanh(y)


def layers(params, x, n=2):
    for layer in params:
        x = squash(layer["w"] @ x) * n  # one layer
    return {"out": x, "norm": jnp.linalg.norm(x)}


def walk(xs, w):
    def body(c, x):
        c = lax.cond(c.sum() > 0, lambda c: w @ c, jnp.sin, c)
        return c + x, c.sum()

    return lax.scan(body, jnp.zeros(3), xs)


def until(x, step):
    return lax.while_loop(lambda c: c < 10.0, lambda c: c + step, x)


def params():
    return [{"w": jnp.ones((3, 4))}, {"w": jnp.ones((2, 3))}]


def test_rows_have_the_students_names_types_and_lines():
    lines = normal(str(program(layers, params(), jnp.ones(4))))
    assert lines[0] == f"layers(params, x, n): {program(layers, params(), jnp.ones(4)).equations} equations"
    assert lines[1:4] == [
        "params[0]['w']  float32[3,4]",
        "params[1]['w']  float32[2,3]",
        "x  float32[4]",
    ]
    number = line_number("# one layer")
    assert lines[4].startswith(
        f"a = dot_general params[0]['w'] x  float32[3]  test_program_drawing.py, line {number}: x = "
    )
    assert lines[5] == f"b = jit squash: a  float32[3]  line {number}"
    assert lines[6].startswith("| c = gt a 0.0  bool[3]  line ")
    assert lines[10].startswith("| returns f ")
    assert [line.split("  ")[0] for line in lines[-2:]] == ["return ['norm']: o", "return ['out']: n"]


def test_static_arguments_and_functions_that_need_values_are_named():
    assert "; static: n = 3, mode = 'sum'" in str(program(lambda x, n, mode: x * n, 1.0, 3, mode="sum"))
    text = str(program(lambda x: jnp.sin(x) if x > 0 else x, 2.0))
    assert "; static: x = 2.0" in text
    assert "a = sin 2.0" in text


def test_a_scan_is_a_box_with_carry_steps_and_branches():
    lines = [line.split("  ")[0] for line in normal(str(program(walk, jnp.ones((5, 3)), jnp.ones((3, 3)))))]
    start = next(i for i, line in enumerate(lines) if "scan, 5 steps:" in line)
    assert lines[start] == "b, c = scan, 5 steps: w a xs"
    assert lines[start + 1 : start + 3] == ["| carry d", "| in each step e"]
    assert "| i = cond: h w d" in lines
    assert lines.index("| | branch if h is 0") < lines.index("| | j = sin d") < lines.index("| | branch if h is 1")
    assert "| | k = dot_general w d" in lines
    assert [line for line in lines if "next carry" in line or "stacked" in line] == ["| next carry l", "| stacked m"]
    assert lines[-2:] == ["return [0]: b", "return [1]: c"]


def test_a_while_shows_its_condition_and_body():
    lines = [line.split("  ")[0] for line in normal(str(program(until, 1.0, 2.0)))]
    assert lines[3:] == [
        "a = while, any number of steps: step x",
        "| carry b",
        "| c = lt b 10.0",
        "| continues if c",
        "| d = add b step",
        "| next carry d",
        "return a",
    ]


def test_a_librarys_function_is_one_row():
    text = str(program(lambda key: jax.random.normal(key, (3,)), jax.random.key(0)))
    assert re.search(r"a = jit normal key \(\d+ equations inside\)", text)
    assert "a = max x 0.0" in str(program(lambda x: jax.nn.relu(x), 1.0))


@pytest.mark.parametrize(
    "make", [lambda: (layers, (params(), jnp.ones(4))), lambda: (walk, (jnp.ones((5, 3)), jnp.eye(3)))]
)
@pytest.mark.parametrize(
    "change", [lambda f: f, jax.jit, lambda f: jax.grad(lambda *a: jax.tree.leaves(f(*a))[0].sum())]
)
def test_every_equation_is_in_the_drawing(make, change):
    fn, args = make()
    text = str(program(change(fn), *args))
    assert f": {program(change(fn), *args).equations} equations" in text.splitlines()[0]


def unrolled(total):
    for _ in range(100):
        step = jnp.sin(total)  # the loop
        total = total + step * 2
    return total


def test_a_loop_that_python_unrolls_is_one_row():
    def then_cosine(xs):
        return jnp.cos(unrolled(xs))  # after it

    first, *rows = normal(str(program(unrolled, jnp.ones(100))))
    total = program(unrolled, jnp.ones(100)).equations
    assert first == f"unrolled(total): {total} equations"
    kinds = "100 sin, 100 mul, 100 add"
    place = f"test_program_drawing.py, line {line_number('# the loop')}: step = jnp.sin(total)  # the loop"
    assert rows[1] == f"... {total} equations  {kinds}  {place}"
    assert len(rows) == 3
    rows = normal(str(program(then_cosine, jnp.ones(100))))
    assert rows[2].startswith(f"... {total} equations in `unrolled`  {kinds}  ")
    assert "= cos " in rows[3]
    assert len(rows) == 5


def test_a_box_is_open_if_its_folded_body_fits():
    def nested(x):
        x = lax.fori_loop(0, 3, lambda i, c: unrolled(c) + c, x)
        return jnp.cos(x)

    lines = [line.split("  ")[0] for line in normal(str(program(nested, jnp.ones(30))))]
    assert "| ... 300 equations in `unrolled`" in lines
    assert len(lines) < 20
    assert lines[-1].startswith("return ")


def test_a_page_shows_the_rows_as_they_are_printed():
    seen = program(lambda x: x < 2, 1.0)
    text = re.sub("<[^>]+>", "", seen._repr_html_())
    assert text.replace("1 equation", "1 equation\n") == escape(str(seen.drawing))
