"""Know the facts about an error that the entries of the catalogue name: the student's expressions, and words."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from jaxguide.code.lines import Line
from jaxguide.code.source import Source, dotted
from jaxguide.code.user_frame import MISSING, UserFrame, is_array
from jaxguide.explain.rewrites.written_shapes import computed_shape
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import part_of
from jaxguide.jaxpr.value_words import array_type, describe

_Value = TypeVar("_Value")


class Unsure(Exception):
    """A fact is not known, so what needs it is not said."""


@dataclass(frozen=True)
class Part:
    """An expression of the student's. In a template, `{x}` is its text, and `{x.shape}` and the like say what it is.

    A property that is not known raises `Unsure`.

    Args:
        node: the expression, or a function or statement.
        source: the file or cell that it is in.
        scene: the error.
        spot: the frame in which its names have values; None if it is in a function that is not running.
        path: where in its value the part is, such as `['key']`.
        held: the value at that path.
    """

    node: ast.AST
    source: Source
    scene: Scene
    spot: UserFrame | None = None
    path: str = ""
    held: Any = MISSING

    def __str__(self) -> str:
        return f"{self.source.quote(self.node)}{self.path}"

    @property
    def atom(self) -> str:
        """The text, in parentheses if a dot, brackets or an operator next to it could split it."""
        return f"{self.source.atom(self.node)}{self.path}"

    @property
    def name(self) -> str:
        """The last name in it: 'zeros' of `jnp.zeros(3)` and of `jnp.zeros`."""
        node = self.node
        name = called(node) or dotted(node).split(".")[-1] or getattr(node, "attr", "") or getattr(node, "name", "")
        return known(str(name) or None)

    @property
    def value_or_missing(self) -> Any:
        """The value, `MISSING` if it is not known."""
        if self.path:
            return self.held
        if self.spot is None:
            return self.node.value if isinstance(self.node, ast.Constant) else MISSING
        return self.spot.value(self.node)

    @property
    def value(self) -> Any:
        """The value, which may be None."""
        value = self.value_or_missing
        if value is MISSING:
            raise Unsure
        return value

    @property
    def what(self) -> str:
        """What the value is, such as `an array float32[3]`."""
        return describe(self.value)

    @property
    def is_here(self) -> str:
        """A sentence: `x` is a traced float32[3] here, inside `jax.jit` of `f`."""
        return self.scene.what(str(self), self.value)

    @property
    def type(self) -> str:
        """The name of the value's type."""
        return type(self.value).__name__

    @property
    def array_type(self) -> str:
        """The dtype and shape of an array, such as `float32[3]`."""
        return array_type(self._array())

    @property
    def dtype(self) -> Any:
        """The dtype of an array."""
        return self._array().dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array, as its value has it or as it is written: (2, 3) for `jnp.ones((2, 3))`."""
        value = self.value_or_missing
        if is_array(value):
            return tuple(value.shape)
        if self.spot is not self.scene.spot or not isinstance(self.node, ast.expr) or self.path:
            raise Unsure("shape")
        return known(computed_shape(self.scene, self.node))

    @property
    def items(self) -> list["Part"]:
        """What a list, a tuple or the like writes out."""
        items = getattr(self.node, "elts", None)
        return [self.inside(one) for one in known(items)]

    @property
    def count(self) -> int:
        """How many items it writes out, if none is a `*rest`."""
        if any(isinstance(one.node, ast.Starred) for one in self.items):
            raise Unsure
        return len(self.items)

    @property
    def line(self) -> Line:
        """The line on which it begins; that of the traceback for what a frame was running."""
        if self.spot is not None and self.node is self.spot.node:
            return self.spot.line
        return Line(self.source.file, self.source.start(self.node)[0])

    @property
    def written(self) -> ast.AST:
        """What can be replaced in the source: the expression, or the part of it that the path leads to."""
        node = part_of(self.node, self.path) if self.path and isinstance(self.node, ast.expr) else self.node
        return known(node)

    def inside(self, node: ast.AST) -> "Part":
        """Return another expression of the same function and frame."""
        return Part(node, self.source, self.scene, self.spot)

    def _array(self) -> Any:
        value = self.value
        if not is_array(value):
            raise Unsure("array")
        return value


def known(value: _Value | None) -> _Value:
    """Return a value; raise `Unsure` if it is None or `MISSING`."""
    if value is None or value is MISSING:
        raise Unsure
    return value


class Facts:
    """What templates may name, each found when it is first needed: parts, words, and groups of the message.

    A group is `{g1}`, or has the name that it has in the phrase.

    Args:
        scene: the error.
        found: the match of the phrase in its message.
        probes: how to find each fact.
    """

    def __init__(self, scene: Scene, found: re.Match[str], probes: Mapping[str, "Probe"]):
        self.scene, self.found, self._probes = scene, found, probes
        self._known: dict[str, Any] = {f"g{number}": text for number, text in enumerate(found.groups(), 1)}
        self._known |= found.groupdict()

    def __getitem__(self, name: str) -> Any:
        """Return a fact; raise `Unsure` if it is not known, `KeyError` if no probe has this name."""
        if name not in self._known:
            value = self._probes[name](self)
            self._known[name] = self.at(value) if isinstance(value, ast.AST) else value
        return known(self._known[name])

    def at(self, node: ast.AST, spot: UserFrame | None = None) -> Part:
        """Return an expression of the innermost frame, or of another one, as a part."""
        spot = spot or self.scene.spot
        return Part(node, known(spot.source), self.scene, spot)

    def part(self, name: str) -> Part:
        """Return a fact that is an expression."""
        part = self[name]
        if not isinstance(part, Part):
            raise TypeError(f"the fact {name!r} is not an expression")
        return part

    def node(self, name: str) -> Any:
        """Return the syntax tree of an expression."""
        return self.part(name).node

    def value(self, name: str) -> Any:
        """Return the value of an expression; `MISSING` if it, or the expression, is not known."""
        return self.part(name).value_or_missing if self.knows(name) else MISSING

    def call(self) -> ast.Call:
        """Return the running call."""
        call: ast.Call = known(self.scene.call())
        return call

    def knows(self, *names: str) -> bool:
        """Return whether all of these facts are known."""
        try:
            return all(self[name] is not None for name in names)
        except Unsure:
            return False

    def say(self, said: "Said") -> str:
        """Fill in a template, or the first of several of which all facts are known."""
        *others, last = (said,) if isinstance(said, str) else said
        for template in others:
            try:
                return template.format_map(self)
            except Unsure:
                continue
        return last.format_map(self)


# Finds a fact: an expression, words or another value; None if it is not known.
Probe = Callable[[Facts], Any]
Condition = Callable[[Facts], bool]
# A template, or several, of which the first counts whose facts are all known.
Said = str | Sequence[str]
