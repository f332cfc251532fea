"""Test that code in a worker continues at breakpoints that were left in it."""

from collections.abc import Callable
from pathlib import Path

from graded_files import grade_files

from jaxguide.course.books.library import Course

_CELL = """
import jax

jax.debug.breakpoint()
breakpoint()


def double(x):
    jax.debug.breakpoint()
    breakpoint()
    return 2.0 * x
"""


def test_a_breakpoint_that_was_left_in_costs_no_marks(course: Course, notebook: Callable[..., Path]) -> None:
    (graded,) = grade_files([notebook(_CELL)], course, only=["double"])
    assert [result.verdict.value for result in graded.results] == ["passed"]
    assert graded.repairs == []
