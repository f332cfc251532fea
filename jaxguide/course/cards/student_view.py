"""What a student may see of a result: of what hidden checks saw, nothing that could carry their inputs."""

import builtins
import dataclasses
import functools

from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Verdict


def for_student(result: ExerciseResult) -> ExerciseResult:
    """Return the result as a student may see it: of a hidden check its name, fact, idea and misconceptions, no more.

    Code that was given a hidden input can put it into a value, into the text, the class or the line of an exception,
    and into what it prints. Visible checks are shown in full: `Judging` asks for them before the first hidden input.
    """
    if not any(check.hidden for check in result.checks):
        return result
    checks = [_without_details(check) if check.hidden else check for check in result.checks]
    # What kept the grader from grading is an error of a check, with what it looked at.
    note = "" if result.verdict is Verdict.NOT_CHECKED else result.note
    return dataclasses.replace(result, checks=checks, printed="", note=note)


def _without_details(check: CheckResult) -> CheckResult:
    error = check.error
    if error is not None:
        error = ErrorInfo(error.type_name if error.type_name in known_exceptions() else "", "")
    return dataclasses.replace(check, message="", call="", got="", expected="", trouble="", error=error)


@functools.cache
def known_exceptions() -> frozenset[str]:
    """Return the names of the exceptions of Python, NumPy and JAX: those that a student may be told.

    >>> {"TypeError", "AxisError", "TracerBoolConversionError"} <= known_exceptions()
    True
    """
    import jax
    import numpy as np

    modules = (builtins, np.exceptions, np.linalg, jax.errors)
    named = ((name, value) for module in modules for name, value in vars(module).items() if not name.startswith("_"))
    return frozenset(name for name, value in named if isinstance(value, type) and issubclass(value, BaseException))
