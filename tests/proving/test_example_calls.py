"""Test that `verify` runs the examples of docstrings with the key's answer."""

import dataclasses
from pathlib import Path

import pytest
from tiny_course import edit

from jaxguide.course.books.library import load_course, read_outline
from jaxguide.course.limits import Limits
from jaxguide.proving.example_calls import has_example
from jaxguide.proving.proof import Problem, ProofSettings
from jaxguide.proving.prover import prove_exercise

BOOK = "exercises/tiny.py"
STUB = '"""Return twice x: float32[n] -> float32[n]."""'


def problems(folder: Path, example: str, idle_s: float = 60.0) -> list[Problem]:
    """Prove the exercise with an example in its docstring."""
    lines = "\n".join(f"    {line}".rstrip() for line in example.split("\n"))
    edit(folder, BOOK, STUB, f'"""Return twice x.\n\n{lines}\n    """')
    course = load_course(folder)
    settings = dataclasses.replace(ProofSettings.of_course(course, 1), limits=Limits(idle_s=idle_s))
    exercise = course.exercise("double")
    return prove_exercise(course.book_of(exercise), exercise, settings).problems


@pytest.mark.parametrize(
    "example",
    [
        ">>> double(jnp.arange(3.0))\nArray([0., 2., 4.], dtype=float32)",
        ">>> square(double(FACTOR))  # names of the lesson that the answer does not need\n16.0",
        ">>> x = double(1)\n>>> x\n2\n\n>>> x + 1  # later\n3",
        ">>> double(jnp.arange(3.0))\nArray([0., ...,\n    4.], dtype=...)",
        ">>> double()\nTraceback (most recent call last):\n    ...\nTypeError: double() missing 1 required ...",
        ">>> double(jnp.float32(0.67208225))  # 1.3441645; digits depend on the machine\nArray(1.344164 , ...)",
        ">>> print(0.0, double(jnp.zeros(2)))\n0.0 [0. 0.]",
        "No example at all.",
    ],
)
def test_an_example_that_comes_out_is_no_problem(tiny: Path, example: str) -> None:
    assert problems(tiny, example) == []


@pytest.mark.parametrize(
    ("example", "message", "at"),
    [
        (">>> y = 1\n>>> double(2)\n5", "`double(2)` shows 5, but the key's answer gives 4", ">>> double(2)"),
        (">>> double(0.5)\n1.00001", "`double(0.5)` shows 1.00001, but the key's answer gives 1.0", ">>> double"),
        (">>> double(2)", "`double(2)` shows nothing, but the key's answer gives 4", ">>> double(2)"),
        (
            ">>> double(jnp.ones((2, 1)))\n[]",
            "shows [], but the key's answer gives Array([[2.], [2.]], dtype=float32)",
            ">",
        ),
        (">>> double(two)\n4", "gives NameError: name 'two' is not defined", ">>> double(two)"),
        (">>> double(2) +\n4", "gives SyntaxError: invalid syntax", ">>> double(2) +"),
        ("  >>> double(2)\n 4", "the examples of `double` cannot be run: line ", "@exercise"),
    ],
)
def test_an_example_that_does_not_is_told_at_its_line(tiny: Path, example: str, message: str, at: str) -> None:
    (problem,) = problems(tiny, example)
    assert message in problem.message
    assert at in problem.path.read_text().splitlines()[problem.line - 1]


def test_an_example_that_does_not_end_is_stopped(tiny: Path) -> None:
    (problem,) = problems(tiny, ">>> import time; time.sleep(99)", idle_s=1.0)
    assert problem.message.startswith(
        "the examples of `double` cannot be run: it was stopped after 1 seconds of waiting"
    )


@pytest.mark.parametrize(
    ("example", "has_one"),
    [(">>> double(2)\n4", True), ("  >>> double(2)\n 4", False), (">>> square(2)\n4", False), ("4", False)],
)
def test_an_example_of_an_exercise_calls_its_function(tiny: Path, example: str, has_one: bool) -> None:
    edit(tiny, BOOK, STUB, f'"""Return twice x.\n\n{example}\n"""')
    assert has_example(read_outline(tiny).exercise("double")) == has_one
