"""Say which of the user's lines and functions an equation comes from."""

import functools
from types import CodeType
from typing import Any

from jaxguide import compat
from jaxguide.code.frames import is_library, is_users_code
from jaxguide.code.lines import Line, user_frames
from jaxguide.jaxpr.interpret import inner_jaxprs


def users_place(source_info: Any) -> tuple[Line, str] | None:
    """Return the user's innermost line behind an equation, and the function that it is in; None if there is none.

    >>> import jax
    >>> (equation,) = jax.make_jaxpr(lambda x: x + 1)(2.0).eqns
    >>> line, function = users_place(equation.source_info)
    >>> line.number, function
    (1, '<lambda>')
    """
    frames = compat.traceback_frames(source_info)
    return next((_place(*frame) for frame in frames if is_users_code(frame[0])), None)


def users_places(source_info: Any) -> list[tuple[Line, str]]:
    """Return the user's lines behind an equation, and the functions that they are in, innermost first."""
    return [_place(*frame) for frame in user_frames(compat.traceback_frames(source_info))]


@functools.lru_cache(maxsize=10_000)
def _place(code: CodeType, instruction: int) -> tuple[Line, str]:
    function = code.co_qualname.rpartition("<locals>.")[2]
    return Line(code.co_filename, compat.frame_line(code, instruction)), function


def is_users_function(called: Any, around: Any) -> bool:
    """Return whether the user wrote a function that is called, or any that it calls.

    Args:
        called: its jaxpr.
        around: the equation that calls it. What a rule of a transformation calls may have the same frames.
    """
    place = compat.function_place(called)
    if place is not None and not is_library(place[0]):
        return True
    return _has_users_lines(called, around.source_info.traceback)


def _has_users_lines(jaxpr: Any, around: Any) -> bool:
    return any(
        (eqn.source_info.traceback != around and users_place(eqn.source_info) is not None)
        or any(_has_users_lines(inner, around) for inner in inner_jaxprs(eqn))
        for eqn in compat.jaxpr_parts(jaxpr)[0].eqns
    )
