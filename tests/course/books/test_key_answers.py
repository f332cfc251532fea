"""Test that an answer of a key takes along the statements of its cell that it needs or that change it."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tiny_course import edit

from jaxguide.course.books.book import run_answer
from jaxguide.course.books.library import load_course
from jaxguide.course.exercise import Exercise
from jaxguide.proving.proof import ProofSettings
from jaxguide.proving.prover import prove_exercise

KEY = "solutions/tiny.py"
RULE = """\
def forward(x):
    return 2 * x, None


def backward(_rest, g):
    return (5 * g,)


"""


def change(course: Path, answer: str, below: str, wrong: str = "") -> None:
    """Set the answer of `double` in the key, what lies below it, and what lies below the wrong answer `squares`."""
    edit(course, KEY, "@answer\ndef double(x):\n    return 2 * x\n", f"{answer}\n\n\n{below}")
    edit(course, KEY, "    return x * x\n", f"    return x * x\n\n\n{wrong}")


def functions_of(course: Path) -> dict[str, Any]:
    """Return the functions behind the planted answers to `double`, by name."""
    loaded = load_course(course)
    key = loaded.exercise("double").key
    assert key is not None
    planted = [key.answer, *key.wrong, *key.alternatives]
    return {one.name: run_answer(loaded.books["tiny"], one.source)["double"] for one in planted}


def slope(function: Any) -> float:
    return float(jax.grad(function)(3.0))


ANSWER = "@answer\n@jax.custom_vjp\ndef double(x):\n    return 2 * x\n"
LINEAR = ANSWER.replace("custom_vjp", "custom_jvp")
TOUCHES = {
    "defvjp": (ANSWER, RULE + "double.defvjp(forward, backward)\n"),
    "defvjp above the rules": (
        ANSWER,
        "def register(f):\n    f.defvjp(forward, backward)\n\n\n" + RULE + "register(double)",
    ),
    "defvjp in a branch": (ANSWER, RULE + "if True:\n    double.defvjp(forward, backward)\n"),
    "defjvp": (LINEAR, "double.defjvp(lambda x, dx: (2 * x[0], 5 * dx[0]))\n"),
    "a decorator": (LINEAR, "@double.defjvp\ndef rule(x, dx):\n    return 2 * x[0], 5 * dx[0]\n"),
    "a called decorator": (
        LINEAR,
        "def by(f):\n    return f\n\n\n@double.defjvp\n@by\ndef rule(x, dx):\n    return 2 * x[0], 5 * dx[0]\n",
    ),
    "defjvps": (LINEAR, "double.defjvps(lambda dx, out, x: 5 * dx)\n"),
    "made later": (
        "@answer\ndef double(x):\n    return 2 * x\n",
        RULE + "double = jax.custom_vjp(double)\ndouble.defvjp(forward, backward)\n",
    ),
}


@pytest.mark.parametrize("what", TOUCHES)
def test_what_gives_an_answer_its_derivative_goes_with_it(tiny: Path, what: str) -> None:
    change(tiny, *TOUCHES[what])
    assert slope(functions_of(tiny)["double"]) == 5


def test_each_answer_has_its_own_derivative(tiny: Path) -> None:
    other = "@wrong(rejected_by='twice_the_input')\n@jax.custom_vjp\ndef threefold(x):\n    return 3 * x\n\n\n"
    other += "def forward_3(x):\n    return 3 * x, len(f'{threefold!r}')\n\n\nthreefold.defvjp(forward_3, backward)\n"
    other += (
        "times_4 = jax.custom_vjp(lambda x: 4 * x)\ntimes_4.defvjp(lambda x: (4 * x, None), lambda _, g: (7 * g,))\n"
    )
    other += "wrong_value('fourfold', times_4, rejected_by='twice_the_input')\n"
    change(tiny, *TOUCHES["defvjp"], other)
    edit(tiny, KEY, "hidden, wrong", "hidden, wrong, wrong_value")
    found = functions_of(tiny)
    assert [slope(found[name]) for name in ("double", "threefold", "fourfold", "a_lambda", "squares")] == [
        5,
        5,
        7,
        2,
        6,
    ]
    assert found["threefold"](1.0) == 3


def test_a_registered_class_and_what_is_set_on_an_answer_go_with_it(tiny: Path) -> None:
    driver = "@answer\ndef double(x):\n    return jax.jit(lambda pair: pair.x + pair.y)(Pair(x, x))\n"
    change(
        tiny,
        driver,
        "class Pair:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n\n\n"
        "jax.tree_util.register_pytree_node(Pair, lambda p: ((p.x, p.y), None), lambda _, parts: Pair(*parts))\n"
        "jax.config.update('jax_enable_x64', False)\n"
        "double = jax.jit(double)\ndouble.__doc__ = 'Double.'\nassert double(1) == 2\n",
        "squares.note = 'mine'\n",
    )
    found = functions_of(tiny)
    assert found["double"](np.ones(2)).tolist() == [2, 2]
    assert (found["double"].__doc__, hasattr(found["double"], "lower")) == ("Double.", True)
    assert (found["squares"].note, hasattr(found["jitted"], "note")) == ("mine", False)
    assert "config" not in _sources(tiny)
    assert "assert" not in _sources(tiny)


def _sources(course: Path) -> str:
    key = load_course(course).exercise("double").key
    assert key is not None
    return "".join(one.source for one in (key.answer, *key.wrong, *key.alternatives))


def test_an_answer_with_a_derivative_is_proven(tiny: Path) -> None:
    change(tiny, *TOUCHES["defvjp"])
    check = '@visible(double, stage="jit", idea="Write it with jax.numpy.")'
    slopes = '@visible(double, stage="gradient")\ndef its_slope_is_5(answer, draw):\n    """It is 5."""\n'
    slopes += "    expect_close(answer.sum.grad()(draw.floats(2)), jnp.full(2, 5.0))\n\n\n"
    edit(tiny, "exercises/tiny.py", check, slopes + check)
    edit(tiny, KEY, "@alternative\n@jax.jit\ndef jitted(x):\n    return x + x\n", "")
    edit(tiny, KEY, 'alternative_value("a_lambda", lambda x: 2 * x)\n', "")
    course = load_course(tiny)
    exercise: Exercise = course.exercise("double")
    proof = prove_exercise(course.book_of(exercise), exercise, ProofSettings.of_course(course, 1))
    assert proof.problems == []
