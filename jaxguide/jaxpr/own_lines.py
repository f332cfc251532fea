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


def with_own_lines(jaxpr: Any) -> Any:
    """Return a jaxpr in which no equation has a source line of another call.

    Inside a jitted function, JAX records the frames from that function on, which are right for all its calls. But if a
    rule of a transformation, such as the backward rule of a `jax.custom_vjp`, is the first to call the function, its
    equations get the frames of the call that the rule is for, and JAX keeps that trace for all later calls (0.10.2 to
    0.12.0.1). Such equations get the frames of the equation that calls the function here.

    >>> import jax
    >>> jaxpr = jax.make_jaxpr(jax.jit(lambda x: x + 1))(2.0)
    >>> with_own_lines(jaxpr) is jaxpr
    True

    Args:
        jaxpr: what `jax.make_jaxpr` returns.
    """
    return _Cleaning().cleaned(jaxpr, None)


class _Cleaning:
    def __init__(self) -> None:
        self._clean: dict[int, Any] = {}  # an id is unique only while its object is alive

    def cleaned(self, jaxpr: Any, around: Any) -> Any:
        """Return a jaxpr without the frames of other calls, given the equation that has it as a parameter, or None."""
        if id(jaxpr) in self._clean:
            return jaxpr
        eqns = compat.jaxpr_parts(jaxpr)[0].eqns
        place = None if around is None else compat.function_place(jaxpr)
        own = None if place is None else _OwnFrames(place, eqns, around.source_info.traceback)
        found = [self._equation(eqn, own) for eqn in eqns]
        if all(one is other for one, other in zip(found, eqns, strict=True)):
            if own is None or not own.inherited:  # otherwise it is right only for this equation
                self._clean[id(jaxpr)] = jaxpr
            return jaxpr
        return compat.with_equations(jaxpr, found)

    def _equation(self, eqn: Any, own: "_OwnFrames | None") -> Any:
        if own is not None and not own.has(eqn):
            eqn = eqn.replace(source_info=compat.with_traceback(eqn.source_info, own.around))
        changed = {name: inner for name, value in eqn.params.items() if (inner := self._param(value, eqn)) is not value}
        return eqn.replace(params={**eqn.params, **changed}) if changed else eqn

    def _param(self, value: Any, eqn: Any) -> Any:
        if hasattr(value, "eqns"):
            return self.cleaned(value, eqn)
        if not isinstance(value, tuple | list) or not any(hasattr(item, "eqns") for item in value):
            return value
        items = [self._param(item, eqn) for item in value]
        return value if all(one is other for one, other in zip(items, value, strict=True)) else type(value)(items)


class _OwnFrames:
    """Tell which equations of a function's jaxpr have its own frames, or those of the equation around it.

    If any has a frame of the function itself, all are its own. Otherwise, a decorator may have made them, or JAX when
    it transformed the function; but those of another call have all the same frames.
    """

    def __init__(self, place: tuple[str, int], eqns: list[Any], around: Any) -> None:
        self.around = around
        self.inherited = False  # whether any equation has the frames of the equation around it
        self._place, self._eqns = place, eqns
        self._all: bool | None = None  # whether all are its own
        self._tracebacks: dict[CodeType, set[Any]] = {}  # by their outermost code

    def has(self, eqn: Any) -> bool:
        """Return whether an equation's frames are right here, or contain no code of the user's."""
        if self._all:
            return True
        frames = compat.traceback_frames(eqn.source_info)
        if not any(is_users_code(code) for code, _ in frames):
            return True
        if eqn.source_info.traceback == self.around:
            self.inherited = True
            return True
        if self._all is None:
            self._all = self._search()
        return self._all or len(self._tracebacks[frames[-1][0]]) > 1

    def _search(self) -> bool:
        for eqn in self._eqns:
            frames = compat.traceback_frames(eqn.source_info)
            if any((code.co_filename, code.co_firstlineno) == self._place for code, _ in frames):
                return True
            if frames:
                self._tracebacks.setdefault(frames[-1][0], set()).add(eqn.source_info.traceback)
        return False
