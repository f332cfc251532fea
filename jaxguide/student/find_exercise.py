"""Find the exercise that a student means by a function or its name."""

import ast
import linecache
from collections.abc import Mapping
from traceback import walk_tb
from typing import Any

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import Outline, UnknownName
from jaxguide.course.exercise import Exercise, Task
from jaxguide.course.settings import said_of_dropped

_TAKE_A_NAME = ("check", "hint", "solution")


def find_exercise(target: Any, names: Mapping[str, Any], course: Course) -> tuple[Exercise, Any]:
    """Return the exercise and the student's function.

    Args:
        target: what the student passed: a function, or its name as a string.
        names: the global names of their session.
        course: the course.

    Raises:
        UnknownName: it was not found; the message says why.
    """
    if isinstance(target, str):
        exercise = course.exercise(target)
        if target not in names:
            raise UnknownName(_run_first(exercise))
        function = names[target]
    else:
        bound = [name for name, value in names.items() if value is target and name in course.exercises]
        if not bound:
            raise UnknownName(_not_an_exercise(target, course))
        # If a function has two names, the student means the one in its `def`.
        own = getattr(target, "__name__", "")
        exercise, function = course.exercises[own if own in bound else bound[-1]], target
    if not callable(function):
        text = "`{name}` should be a function; it is of type {kind}. Did you call it by mistake?"
        raise UnknownName(text.format(name=exercise.name, kind=type(function).__name__))
    return exercise, function


def undefined_exercise(error: NameError, course: Outline) -> str:
    """Say which cell defines the name that a call of `check`, `hint` or `solution` needs, or which name was meant.

    Return '' for any other error.
    """
    files = [frame.f_code.co_filename for frame, _line in walk_tb(error.__traceback__)]
    name = error.name or ""
    if not files or not _is_asked_for(name, files[-1]):
        return ""
    if name in course.exercises:
        return _run_first(course.exercises[name])
    return f"`{name}` is not defined." + did_you_mean(name, course.exercises, most=1)


def _is_asked_for(name: str, file: str) -> bool:
    """Return whether a file, such as a notebook's cell, gives a name to `check`, `hint` or `solution`."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [[part.id for part in (call.func, *call.args[:1]) if isinstance(part, ast.Name)] for call in calls]
    return any([asked, name] in named for asked in _TAKE_A_NAME)


def _run_first(exercise: Task) -> str:
    where = f"the cell below the heading '{exercise.full_title}'"
    return f"`{exercise.name}` is not defined yet: run {where}, then this one again."


def _not_an_exercise(target: Any, course: Course) -> str:
    if target is None:
        return "Which exercise? Pass your function, as in `check(name)` or `hint(name)`."
    if not callable(target):
        return (
            f"Expected a function, or its name in quotes, but got a value of type {type(target).__name__}. "
            "Write `check(name)`, not `check(name(...))`; likewise for the others."
        )
    name = getattr(target, "__name__", type(target).__name__)
    if name in course.settings.dropped:
        return said_of_dropped([name], course.settings.dropped)
    text = "This function (`{name}`) does not belong to an exercise. Give it the exercise's name, then check again."
    return text.format(name=name) + did_you_mean(name, list(course.exercises))
