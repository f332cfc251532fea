"""Find the exercise that a student means by a function or its name."""

from collections.abc import Mapping
from typing import Any

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import UnknownName
from jaxguide.course.exercise import Exercise


def find_exercise(target: Any, names: Mapping[str, Any], course: Course) -> tuple[Exercise, Any] | str:
    """Return the exercise and the student's function, or a sentence that says why it was not found.

    Args:
        target: what the student passed: a function, or its name as a string.
        names: the global names of their session.
        course: the course.
    """
    if isinstance(target, str):
        try:
            exercise = course.exercise(target)
        except UnknownName as error:
            return str(error)
        if target not in names:
            return f"`{target}` is not defined yet: run the cell that defines it, then check again."
        function = names[target]
    else:
        bound = [name for name, value in names.items() if value is target and name in course.exercises]
        if not bound:
            return _not_an_exercise(target, course)
        # If a function has two names, the student means the one in its `def`.
        own = getattr(target, "__name__", "")
        exercise, function = course.exercises[own if own in bound else bound[-1]], target
    if not callable(function):
        text = "`{name}` should be a function; it is of type {kind}. Did you call it by mistake?"
        return text.format(name=exercise.name, kind=type(function).__name__)
    return exercise, function


def _not_an_exercise(target: Any, course: Course) -> str:
    others = "`hint` and `solution`" if course.has_solutions else "`hint`"
    if target is None:
        return f"Which exercise? Pass your function: `check(name)`; likewise for {others}."
    if not callable(target):
        text = (
            "Expected a function, or its name in quotes, but got a value of type {kind}. "
            "Write `check(name)`, not `check(name(...))`; likewise for {others}."
        )
        return text.format(kind=type(target).__name__, others=others)
    name = getattr(target, "__name__", type(target).__name__)
    text = "This function (`{name}`) does not belong to an exercise. Give it the exercise's name, then check again."
    return text.format(name=name) + did_you_mean(name, list(course.exercises))
