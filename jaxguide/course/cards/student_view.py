"""Reduce results to what students may see, without anything that could reveal the inputs of hidden checks."""

import builtins
import dataclasses
import functools

from jaxguide.course.verdict import CheckResult, ErrorInfo, Evidence, ExerciseResult, Verdict

# How code ended by a limit, which the grader says in words of its own.
_LIMITS = (Verdict.OUT_OF_TIME, Verdict.OUT_OF_MEMORY, Verdict.TOO_MUCH_OUTPUT)


def for_student(result: ExerciseResult) -> ExerciseResult:
    """Return the result as students may see it.

    Visible checks are shown in full: all those of a file run before its code gets a hidden input. Of a hidden check,
    that is its verdict, name, fact, idea, kind of input and misconceptions, the limit that ended it, and the name of an
    exception of Python, NumPy or JAX. Code that received a hidden input can reveal it in a value, in the message, class
    or line of an exception, or in its output.
    """
    if not any(check.hidden for check in result.checks):
        return result
    checks = [_without_details(check) if check.hidden else check for check in result.checks]
    # If an exercise could not be graded, its note is the error that the check raised, which may reveal the check's
    # inputs.
    note = "" if result.verdict is Verdict.NOT_CHECKED else result.note
    return dataclasses.replace(result, checks=checks, hidden_printed="", note=note)


def _without_details(check: CheckResult) -> CheckResult:
    error = check.error
    if error is not None:
        error = ErrorInfo(error.type_name if error.type_name in known_exceptions() else "", "")
    message = check.message if check.verdict in _LIMITS else ""
    nothing = dataclasses.asdict(Evidence(names_cause=check.names_cause))
    return dataclasses.replace(check, **nothing, message=message, error=error, trouble="")


@functools.cache
def known_exceptions() -> frozenset[str]:
    """Return the names of the exceptions of Python, NumPy and JAX, which are safe to show to students.

    >>> {"TypeError", "AxisError", "TracerBoolConversionError"} <= known_exceptions()
    True
    """
    import jax
    import numpy as np

    modules = (builtins, np.exceptions, np.linalg, jax.errors)
    named = ((name, value) for module in modules for name, value in vars(module).items() if not name.startswith("_"))
    return frozenset(name for name, value in named if isinstance(value, type) and issubclass(value, BaseException))
