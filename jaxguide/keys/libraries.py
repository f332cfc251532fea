"""Tell a key that an installed package used twice from one that the user's code used twice."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType

from jaxguide import compat
from jaxguide.code.frames import is_library, is_own, package_of
from jaxguide.code.lines import Line
from jaxguide.keys import names
from jaxguide.keys.events import Event, PathStep
from jaxguide.keys.origins import CallSite

Frame = tuple[CodeType, int]
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Blame:
    """The package that used a key twice, and the two lines in it."""

    package: str
    first: Line
    second: Line


def blame(first: Event, second: Event) -> Blame | None:
    """Return the package that used a key twice of its own accord; None if the user's code did, or may have done.

    It is the package if it called `jax.random` both times, and one call by the user's code led to both.
    """
    made = [_caller(event) for event in (first, second)]
    if None in made or first is second:
        return None
    found = _parting(first.path, second.path)
    if found is None or _hands_over_a_key(first, found[1]) or _hands_over_a_key(second, found[1]):
        return None
    if package_of(found[0][0].co_filename) is None:
        return None
    one, two = (Line(code.co_filename, compat.frame_line(code, at)) for code, at in filter(None, made))
    return Blame(str(package_of(two.file)), one, two)


def package_given_the_key(first: Event, second: Event) -> str | None:
    """Return the package that the user's code gave a key for both uses; None if it is not the same for both."""
    packages = _packages(first, second)
    return packages.pop() if len(packages) == 1 else None


def package_given_the_key_once(first: Event, second: Event) -> str | None:
    """Return the package that the user's code gave a key for one of two uses; None if the other is one's, too."""
    packages = _packages(first, second)
    return next(filter(None, packages), None) if None in packages else None


def _packages(first: Event, second: Event) -> set[str | None]:
    made = [_caller(event) for event in (first, second)]
    return {package_of(frame[0].co_filename) if frame else None for frame in made}


def _caller(event: Event) -> Frame | None:
    """Return the package's frame that called JAX; None if it is not a package's."""
    frame = (
        next((frame for frame in event.path[0].frames if not _is_passed_through(frame[0])), None)
        if event.path
        else None
    )
    return frame if frame is not None and package_of(frame[0].co_filename) is not None else None


def _is_passed_through(code: CodeType) -> bool:
    """Return whether code is JAX's or Python's own, which does what its caller asks."""
    file = code.co_filename
    return compat.in_jax(code) or (is_library(file) and not is_own(file) and package_of(file) is None)


def _parting(first: Sequence[PathStep], second: Sequence[PathStep]) -> tuple[Frame, int] | None:
    """Return the frame in which two uses part, and how many of the user's places lie further out.

    None if a loop of Python, in an unknown frame, repeats the use.
    """
    out = 0
    before: PathStep | None = None
    for x, y in zip(reversed(first), reversed(second), strict=False):
        if x.scope != y.scope:  # iterations of the loop that the step before is
            return None if before is None else (_responsible(before.frames), out)
        if x.frames != y.frames:
            common = _common(x.frames, y.frames)
            if common:
                return _responsible(common), out + _users(common)
            # JAX inlined a function without recording where it was called. Had the user's code called the package
            # twice, both uses would be on the same line of the package.
            one, two = _responsible(x.frames), _responsible(y.frames)
            same = package_of(one[0].co_filename) == package_of(two[0].co_filename)
            return (two, out + max(_users(x.frames), _users(y.frames))) if same and one != two else None
        out += _users(x.frames)
        if x.equation != y.equation:
            return _repeated(x.frames, out)
        before = x
    return None


def _common(first: Sequence[Frame], second: Sequence[Frame]) -> list[Frame]:
    """Return the frames that two stacks share, innermost first, starting with that in which they part."""
    shared: list[Frame] = []
    for mine, other in zip(reversed(first), reversed(second), strict=False):
        if mine[0] is not other[0]:
            break
        shared.insert(0, mine)
        if mine != other:
            break
    return shared


def _responsible(frames: Sequence[Frame]) -> Frame:
    """Return the innermost frame that is neither JAX's nor Python's."""
    return next((frame for frame in frames if not _is_passed_through(frame[0])), frames[-1])


def _repeated(frames: Sequence[Frame], out: int) -> tuple[Frame, int] | None:
    """Return the package's frame if only it can contain the Python loop that runs the same frames again."""
    places = [_site(frame) for frame in frames if _is_users(frame)]
    if not places:
        return None
    for inner, place in zip([None, *places], places, strict=False):
        call = names.call_at(place)
        if call is None or any(isinstance(node, _LOOPS) for node in _within_function(place)):
            return None
        if inner is not None and names.callee(call) != inner.code.co_name:
            return None
    return _responsible(frames), out


def _within_function(place: CallSite) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in names.nodes_around(place):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found = []
        found.append(node)
    return found


def _hands_over_a_key(event: Event, out: int) -> bool:
    """Return whether the user's code that the package called passes on a key, which it may have chosen wrongly."""
    inner = event.places[: max(len(event.places) - out, 0)]
    return any(names.passes_a_key(place) for place in inner)


def _users(frames: Sequence[Frame]) -> int:
    return sum(map(_is_users, frames))


def _is_users(frame: Frame) -> bool:
    return not is_library(frame[0].co_filename)


def _site(frame: Frame) -> CallSite:
    code, instruction = frame
    return CallSite(Line(code.co_filename, compat.frame_line(code, instruction)), code, instruction)
