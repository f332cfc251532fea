"""Recognize errors of flax, haiku, optax and equinox by names and frames, without importing these libraries."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from jaxguide.code.frames import is_library
from jaxguide.code.user_frame import UserFrame
from jaxguide.compat.error_texts import Phrase
from jaxguide.explain.scene import Scene, called


@dataclass(frozen=True)
class LibraryPhrase(Phrase):
    """An error of a library, or one that JAX or Python raised below a call of it.

    Args:
        package: the library's top-level module.
        name: the name of the exception's class; '' for any.
    """

    package: str = ""
    name: str = ""

    def match(self, error: BaseException) -> re.Match[str] | None:
        """Return the match in an error's message; None if the class, the library or the text differs."""
        if self.name and type(error).__name__ != self.name:
            return None
        if self.package not in _packages(error):
            return None
        return super().match(error)


def of_library(package: str, text: str = "", *, name: str = "") -> LibraryPhrase:
    """Return the phrase of an error that comes from a library."""
    return LibraryPhrase(Exception, text, package=package, name=name)


def _packages(error: BaseException) -> set[str]:
    """Return the libraries that an error comes from: that of its class, and those called by the user's last line."""
    found = {type(error).__module__.split(".")[0]}
    frames: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    for one in reversed(frames):
        code = one.tb_frame.f_code
        if not is_library(code.co_filename) and code.co_filename != "<string>":
            break
        found.add(str(one.tb_frame.f_globals.get("__name__", "")).split(".")[0])
    return found


def call_of(scene: Scene, *names: str) -> tuple[UserFrame, ast.Call] | None:
    """Return the innermost running call of one of these functions or methods, and the student's frame it is in."""
    for spot in reversed(scene.spots):
        node: ast.AST | None = spot.node if spot.source is not None else None
        call = spot.source.around(node, ast.Call) if spot.source is not None else None
        while call is not None and spot.source is not None:
            if called(call) in names:
                return spot, call
            call = spot.source.around(spot.source.parents.get(call), ast.Call)
    return None


def is_instance(value: Any, package: str, name: str = "") -> bool:
    """Return whether a value is of a class of a library, or of one derived from it."""
    return any(
        kind.__module__.split(".")[0] == package and name in ("", kind.__name__)
        for kind in type(value).__mro__
        if isinstance(kind.__module__, str)
    )


def is_mapping(value: Any) -> bool:
    """Return whether a value is a dict or a library's frozen dict."""
    return isinstance(value, Mapping)
