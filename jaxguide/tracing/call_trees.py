"""Describe an argument as the tree that `jax.jit` sees: the types of its arrays, and what is static between them."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np

from jaxguide.jaxpr.value_words import array_type, describe, object_of_type
from jaxguide.tracing.functions import is_function, name_of
from jaxguide.tracing.placements import Placement, placement

_SHORT = 60


Names: TypeAlias = "tuple[str | Names | None, ...]"


class Leaf(NamedTuple):
    """One array in an argument.

    Args:
        type: its type as JAX prints it.
        weak: whether the type is weak.
        python: the type of a Python number.
        aval: what JAX compares.
        where: where it lies; None if that is not known.
    """

    type: str
    weak: bool
    python: str
    aval: Any = None
    where: Placement | None = None

    def __str__(self) -> str:
        words = f"weakly typed {self.type}" if self.weak else self.type
        return f"a Python {self.python} ({words})" if self.python else words


@dataclass(frozen=True, eq=False)
class Static:
    """A static value, with its hash at the time of the call, and the text if it was asked for: it may change later."""

    value: Any
    hash: int | None
    text_then: str | None = None

    def __str__(self) -> str:
        return static_text(self.value) if self.text_then is None else self.text_then


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A container in an argument.

    Args:
        kind: its type.
        metadata: its static part, as JAX compares it.
        names: the attributes that hold the parts of a `metadata` that is a tuple; None for a part without a known name,
            and a tuple for a part that is a tuple of attributes itself.
        name: the attribute that holds all of `metadata`, if there is one.
        children: its parts by their path below it, such as `['w']`.
        words: what it is, such as 'a dict of 2'.
    """

    kind: type
    metadata: Static
    names: "Names"
    name: str | None
    children: "dict[str, Leaf | Static | TreeNode]"
    words: str

    def __str__(self) -> str:
        return self.words


Tree: TypeAlias = Leaf | Static | TreeNode


def tree_of(value: Any, traced: frozenset[int] | None = None) -> Tree:
    """Describe an argument.

    >>> tree_of({"w": np.ones(3, np.float32), "b": 0.0}).children["['w']"].type
    'float32[3]'

    Args:
        value: the argument.
        traced: the ids of the values that are traced; others that are not arrays are static. None if all are traced.
    """
    structure: Any
    pairs, structure = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda part: part is not value)
    if structure.num_leaves == 1 and jax.tree_util.treedef_is_leaf(structure):  # None and () have no leaves
        is_array = isinstance(value, jax.Array | np.ndarray | np.generic | jax.core.Tracer)
        if traced is not None and not is_array and id(value) not in traced:
            return static_of(value)
        return leaf_of(value)
    kind, metadata = structure.node_data()
    children = dict(_named(value, pairs))
    names, name = _fields(value, metadata, children)
    trees = {path: tree_of(child, traced) for path, child in children.items()}
    return TreeNode(kind, static_of(metadata), names, name, trees, _words(value, kind))


def _words(value: Any, kind: type) -> str:
    words = describe(value)
    return f"a `{kind.__name__}`" if words == object_of_type(kind.__name__) else words


def _named(value: Any, pairs: list[tuple[Any, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield a container's parts by path; parts that JAX only numbers have the names of attributes, if they are some."""
    held = getattr(value, "__dict__", {})
    for path, child in pairs:
        key = path[0] if len(path) == 1 else None
        if isinstance(key, jax.tree_util.FlattenedIndexKey):
            names = [name for name, attribute in held.items() if attribute is child]
            yield f".{names[0]}" if len(names) == 1 else f"[{key.key}]", child
        else:
            yield jax.tree_util.keystr(path), child


def _fields(value: Any, metadata: Any, children: dict[str, Any]) -> tuple[Names, str | None]:
    """Return the attributes that hold the parts of a container's metadata, and the one that holds all of it."""
    held = getattr(value, "__dict__", {})
    parts = metadata if type(metadata) is tuple else ()
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if f".{field.name}" not in children]
        in_order = (held.get(name) is part for name, part in zip(names, parts, strict=False))
        if len(names) == len(parts) and all(in_order):
            return tuple(names), None
    names = [name for name in held if f".{name}" not in children]
    if parts and len(names) == len(parts) and all(held[name] is part for name, part in zip(names, parts, strict=True)):
        return tuple(names), None
    found = tuple(_listed(held, part, parts) or _attribute(held, part) for part in parts)
    return found, None if parts else _attribute(held, metadata)


def _listed(held: dict[str, Any], part: Any, parts: tuple[Any, ...]) -> Names:
    """Return the attributes whose values are the items of a part, if another part lists their names."""
    for names in parts:
        if not (type(names) is type(part) is tuple and names and len(names) == len(part)):
            continue
        if all(isinstance(name, str) for name in names):
            # What is not an attribute itself, such as metadata of the class, may be among them.
            matching = sum(name in held and held[name] is item for name, item in zip(names, part, strict=True))
            if 2 * matching > len(part):
                return names
    return ()


def _attribute(held: dict[str, Any], part: Any) -> str | None:
    names = [name for name, attribute in held.items() if attribute is part]
    return names[0] if len(names) == 1 and part is not None else None


def leaf_of(value: Any) -> Leaf:
    """Describe an array, a number or a tracer."""
    try:
        aval = jax.typeof(value)
    except TypeError:  # `jax.jit` will reject it
        return Leaf(describe(value), False, "")
    python = type(value).__name__ if type(value) in (bool, int, float, complex) else ""
    weak = bool(getattr(aval, "weak_type", False))
    plain = array_type(aval) if hasattr(aval, "dtype") else str(aval)
    # With an explicit mesh, the type also shows the sharding, as in float32[8@x].
    words = str(aval).lstrip("~") if "@" in str(aval) else plain
    return Leaf(words, weak, python, aval, placement(value))


def static_of(value: Any, *, with_text: bool = False) -> Static:
    """Describe a static value as it is now.

    Args:
        value: the value.
        with_text: whether to keep its text, which can take long for large objects.
    """
    try:
        number = hash(value)
    except Exception:  # a user's `__hash__`, or none
        number = None
    return Static(value, number, static_text(value) if with_text else None)


def static_text(value: Any) -> str:
    """Return a static value's text: a function's name, or what it prints as, unless that is an address."""
    if is_function(value):
        return name_of(value)
    try:
        text = repr(value)
    except Exception:  # a user's `__repr__`
        text = " object at 0x"
    return object_of_type(type(value).__name__) if " at 0x" in text else short(text)


def short(text: str) -> str:
    """Shorten a text that is too long for a sentence."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."
