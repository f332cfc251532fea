"""Leave out problems that the user knows of: those of a package, or those at a place."""

import difflib
import functools
import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from jaxguide.code.frames import package_of
from jaxguide.code.lines import function_name
from jaxguide.jaxpr.value_words import describe
from jaxguide.keys.events import Event
from jaxguide.keys.origins import CallSite


@dataclass(frozen=True)
class Ignored:
    """What to leave out: the names of packages, and (file, line or function) pairs."""

    packages: frozenset[str] = frozenset()
    places: tuple[tuple[str, str], ...] = ()

    def covers(self, package: str | None, uses: Iterable[Event]) -> bool:
        """Return whether to leave out a problem with these two uses, which is a package's or, with None, the user's."""
        if package is not None and package in self.packages:
            return True
        places = [place for use in uses for place in use.places]
        return any(_is_at(place, file, where) for file, where in self.places for place in places)


NOTHING = Ignored()


def _is_at(place: CallSite, file: str, where: str) -> bool:
    wanted, parts = PurePath(file).parts, PurePath(place.line.file).parts
    if parts[-len(wanted) :] != wanted:
        return False
    return place.line.number == int(where) if where.isdigit() else place.code.co_name == where


def read_ignored(helper: str, ignore: Any, fn: Any = None) -> Ignored:
    """Return what the argument `ignore` of a helper for `fn` means.

    >>> read_ignored("check_keys", ["jax", "train.py:12"]).places
    (('train.py', '12'),)
    >>> read_ignored("check_keys", "train.py")
    Traceback (most recent call last):
    ValueError: `check_keys` got `ignore='train.py'`, which is neither the name of a package nor a place: ...

    A package may be missing on one of the machines that run a script, so that alone is not an error.

    Raises:
        TypeError: it is neither a text nor a collection of texts, or could be meant for `fn`.
        ValueError: a text can be neither the name of a package nor a place.

    Warns:
        UserWarning: a text could be the name of a package, but no such package is installed.
    """
    if isinstance(ignore, Ignored):
        return ignore
    entries = [ignore] if isinstance(ignore, str) else ignore
    if not isinstance(entries, Collection) or not all(isinstance(entry, str) for entry in entries):
        wrong = entries
        if isinstance(entries, Collection):
            wrong = next(entry for entry in entries if not isinstance(entry, str))
        raise TypeError(
            f"`{helper}` got {describe(wrong)} in `ignore`: pass the names of packages, as in `ignore='flax'`, or "
            "places, as in `ignore=['train.py:12', 'train.py:init']`."
        )
    if entries and fn is not None and _takes_ignore(fn):
        raise TypeError(
            f"`{helper}` got `ignore`, but `{function_name(fn)}` has an argument `ignore` too: give it to the function "
            "first, with `functools.partial`."
        )
    packages, places = set(), []
    for entry in entries:
        place = re.fullmatch(r"(.+):(\d+|[^\W\d]\w*)", entry)
        if place is not None:
            places.append((place[1], place[2]))
        elif not entry.isidentifier():
            raise ValueError(
                f"`{helper}` got `ignore={entry!r}`, which is neither the name of a package nor a place: pass the "
                "name that is imported, such as `'flax'`, or a file and a line or function, such as "
                "`'train.py:12'` or `'train.py:init'`."
            )
        else:
            packages.add(entry)
            if not _is_installed(entry):
                _warn_of_missing(helper, entry)
    return Ignored(frozenset(packages), tuple(places))


def _takes_ignore(fn: Any) -> bool:
    try:
        parameter = inspect.signature(fn).parameters.get("ignore")
    except (TypeError, ValueError):
        return False
    # A partial that has it still names it, with the value as its default; that is what the message asks for.
    return parameter is not None and not (isinstance(fn, functools.partial) and "ignore" in fn.keywords)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _warn_of_missing(helper: str, name: str) -> None:
    text = f"`{helper}` got `ignore={name!r}`, but no package of this name is installed here, so it leaves nothing out."
    files = {module: getattr(sys.modules[module], "__file__", None) for module in list(sys.modules)}
    imported = [module for module, file in files.items() if file and package_of(file) == module]
    if near := difflib.get_close_matches(name, sorted(imported), n=1, cutoff=0.7):
        text += f" A package with a similar name is `{near[0]}`."
    warnings.warn(text, stacklevel=4)
