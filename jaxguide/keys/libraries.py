"""Tell a key that an installed package used twice from one that the user's code used twice."""

import ast
import importlib.util
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from jaxguide import compat
from jaxguide.code.frames import is_library, is_own, package_of
from jaxguide.code.lines import Line
from jaxguide.jaxpr.value_words import describe
from jaxguide.keys import names
from jaxguide.keys.events import Event, PathStep
from jaxguide.keys.origins import CallSite, Frame, call_site

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


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
    one, two = _caller(first), _caller(second)
    if one is None or two is None or first is second:
        return None
    found = _parting(first.path, second.path)
    if found is None or package_of(found[0][0].co_filename) is None:
        return None
    inside = [place for event in (first, second) for place in event.places[: max(len(event.places) - found[1], 0)]]
    if any(map(names.passes_a_key, inside)):  # the user's code, which the package called, may have chosen the wrong key
        return None
    line, other = call_site(one).line, call_site(two).line
    return Blame(str(package_of(other.file)), line, other)


def packages_given_the_key(first: Event, second: Event) -> tuple[str | None, str | None]:
    """Return for each of two uses the package that the user's code gave the key; None where it was used directly."""
    one, two = (package_of(frame[0].co_filename) if frame else None for frame in map(_caller, (first, second)))
    return one, two


def _caller(event: Event) -> Frame | None:
    """Return the package's frame that called JAX; None if it is not a package's."""
    frames = event.path[0].frames if event.path else ()
    frame = next((frame for frame in frames if not _is_passed_through(frame[0])), None)
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
            return (_responsible(x.frames), out) if _called_once(x.frames) else None
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


def _called_once(frames: Sequence[Frame]) -> bool:
    """Return whether no loop of the user's can have run these frames again, so that a package's loop did."""
    inner: CallSite | None = None
    for place in (call_site(frame) for frame in frames if not is_library(frame[0].co_filename)):
        call = names.call_at(place)
        around = names.nodes_around(place)
        start = max((i for i, node in enumerate(around) if isinstance(node, _FUNCTIONS)), default=0)
        if call is None or any(isinstance(node, _LOOPS) for node in around[start:]):
            return False
        if inner is not None and names.callee(call) != inner.code.co_name:
            return False
        inner = place
    return inner is not None


def _users(frames: Sequence[Frame]) -> int:
    return sum(not is_library(frame[0].co_filename) for frame in frames)


def read_ignored(helper: str, ignore: Any) -> frozenset[str]:
    """Return the packages that the argument `ignore` of a helper names.

    >>> read_ignored("check_keys", "jax")
    frozenset({'jax'})

    Raises:
        TypeError: it is neither a text nor a collection of texts.

    Warns:
        UserWarning: no such package is installed on this machine.
    """
    packages = [ignore] if isinstance(ignore, str) else ignore
    if not isinstance(packages, Collection) or not all(isinstance(package, str) for package in packages):
        raise TypeError(
            f"`{helper}` got {describe(ignore)} as `ignore`: pass the names of packages, as in `ignore='flax'`."
        )
    for package in packages:
        if not package.isidentifier() or importlib.util.find_spec(package) is None:
            text = f"`{helper}` got `ignore={package!r}`, but no package of this name is installed here."
            warnings.warn(text, stacklevel=3)
    return frozenset(packages)
