"""Describe a call as JAX compares it with earlier ones to find a trace or a program."""

import inspect
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.frames import is_library
from jaxguide.code.lines import function_name
from jaxguide.compat.jit_calls import JitCall, trace_context
from jaxguide.jaxpr.value_words import array_type, describe, object_of_type
from jaxguide.tracing.functions import function_key, is_function, name_of, users_part, written_function
from jaxguide.tracing.placements import Placement, placement

_SHORT = 60


class Leaf(NamedTuple):
    """One array in an argument: its type as JAX prints it, what JAX compares, and where it lies, if that is known."""

    type: str
    weak: bool
    python: str = ""  # the type of a Python number
    aval: Any = None
    where: Placement | None = None

    def __str__(self) -> str:
        words = f"weakly typed {self.type}" if self.weak else self.type
        return f"a Python {self.python} ({words})" if self.python else words


class Static(NamedTuple):
    """A static value, with its hash at the time of the call: it may change later."""

    value: Any
    hash: int | None
    is_declared: bool = False  # in the arguments of `jax.jit`

    def __str__(self) -> str:
        return static_text(self.value)


class TreeNode(NamedTuple):
    """A container: its type, its static part, the attributes in that, its parts by path (`['w']`), and what it is."""

    kind: type
    metadata: Static
    fields: dict[str, Any]
    children: "dict[str, Tree]"
    words: str

    def __str__(self) -> str:
        return self.words


Tree: TypeAlias = Leaf | Static | TreeNode


class TracedFunction:
    """The function of a call, known without keeping it alive: JAX forgets the traces of functions that are deleted.

    `itself`, `owner` (of a method) and `written` (the Python function that it runs) return objects that are alive.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = name_of(function)
        self.program = f"jit({function_name(function)})"  # what JAX calls programs compiled from it
        self.key = function_key(function)
        self.kind = type(function)
        self.is_defined = hasattr(function, "__code__")
        owner, written = getattr(function, "__self__", None), written_function(function)
        self.owner_kind = type(owner).__name__
        self.is_made = written is not None and hasattr(function, "__wrapped__")  # as what `jax.grad` returns
        if written is not None and is_library(written.__code__.co_filename):  # it may hold the user's
            written = users_part(function) or written
        self.itself, self.owner, self.written = _reference(function), _reference(owner), _reference(written)


def are_one(old: Callable[[], Any], new: Callable[[], Any]) -> bool:
    """Return whether two references are to one object, which is alive."""
    return old() is not None and old() is new()


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:  # None, or an object without weak references, which lives as long as the block
        return lambda: value


class Signature(NamedTuple):
    """What JAX compares to find an existing trace or program.

    Args:
        function, options: see `JitCall`.
        arguments: by parameter name.
        named: the names of the arguments that were passed by name.
        settings: JAX's settings and contexts that make a difference.
        is_wrapped: whether another library jits the function and decides what is static.
    """

    function: TracedFunction
    options: Any
    arguments: dict[str, Tree]
    named: frozenset[str]
    settings: dict[str, Any]
    is_wrapped: bool


def signature(call: JitCall, traced: frozenset[int] | None = None, settings: dict[str, Any] | None = None) -> Signature:
    """Describe a call.

    Args:
        call: the call.
        traced: the ids of the values that are traced, if a library decides that; None if the options of `jax.jit` do.
        settings: JAX's settings and contexts; by default, those in force.
    """
    found: dict[str, Tree] = {}
    for name, value, position in _bound(call):
        is_static = call.is_static(position, name)
        found[name] = static_of(value, is_declared=True) if is_static else tree_of(value, traced)
    in_force = trace_context() if settings is None else settings
    function = TracedFunction(call.function)
    return Signature(function, call.options, found, frozenset(call.kwargs), in_force, traced is not None)


def transformation_of(call: JitCall) -> str:
    """Return the transformation under which a program is compiled for a call; empty if there is none."""
    for leaf in jax.tree.leaves((call.args, call.kwargs)):
        if isinstance(leaf, jax.core.Tracer):
            by = compat.traced_by(leaf).transformation
            return f"`{by}`" if by else "a transformation"
    return ""


def _bound(call: JitCall) -> Iterator[tuple[str, Any, int | None]]:
    """Yield the name, value and position (None if passed by name) of each argument of a call."""
    function = call.function
    if not isinstance(function, FunctionType | MethodType) and jax.tree.leaves(function) != [function]:
        yield type(function).__name__, function, None  # a pytree that is called, such as a model
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    for i, value in enumerate(call.args):
        yield names[i] if i < len(names) else f"{rest}[{i - len(names)}]", value, i
    for name, value in call.kwargs.items():
        yield name, value, None


def tree_of(value: Any, traced: frozenset[int] | None = None) -> Tree:
    """Describe an argument; see `signature`.

    >>> tree_of({"w": np.ones(3, np.float32), "b": 0.0}).children["['w']"].type
    'float32[3]'
    """
    structure: Any
    pairs, structure = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda part: part is not value)
    if structure.num_leaves == 1 and jax.tree_util.treedef_is_leaf(structure):  # None and () have no leaves
        is_array = isinstance(value, jax.Array | np.ndarray | np.generic)
        return static_of(value) if traced is not None and not is_array and id(value) not in traced else _leaf_of(value)
    kind, metadata = structure.node_data()
    held = getattr(value, "__dict__", {})
    children = {_path(path, child, held): tree_of(child, traced) for path, child in pairs}
    known = set(_ids(metadata))
    fields = {name: part for name, part in held.items() if known.issuperset(_ids(part)) and f".{name}" not in children}
    words = describe(value)
    words = f"a `{kind.__name__}`" if words == object_of_type(kind.__name__) else words
    return TreeNode(kind, static_of(metadata), fields, children, words)


def _path(path: tuple[Any, ...], child: Any, held: dict[str, Any]) -> str:
    """Return the path to a part; those that JAX only numbers have the names of attributes, if they are some."""
    if isinstance(path[0], jax.tree_util.FlattenedIndexKey):
        names = [name for name, attribute in held.items() if attribute is child]
        return f".{names[0]}" if len(names) == 1 else f"[{path[0].key}]"
    return jax.tree_util.keystr(path)


def _ids(value: Any) -> Iterator[int]:
    """Yield the ids of the parts of nested tuples."""
    return map(id, jax.tree.leaves(value, is_leaf=lambda part: type(part) is not tuple))


def _leaf_of(value: Any) -> Leaf:
    """Describe an array, a number, a tracer, or the type of one."""
    try:
        aval = value if isinstance(value, jax.core.ShapedArray) else jax.typeof(value)
    except TypeError:  # `jax.jit` will reject it
        return Leaf(describe(value), False)
    python = type(value).__name__ if type(value) in (bool, int, float, complex) else ""
    words = array_type(aval) if hasattr(aval, "dtype") else str(aval)
    where = None if value is aval else placement(value)
    return Leaf(words, bool(getattr(aval, "weak_type", False)), python, aval, where)


def static_of(value: Any, *, is_declared: bool = False) -> Static:
    """Describe a static value as it is now."""
    try:
        number = hash(value)
    except Exception:  # a user's `__hash__`, or none
        number = None
    return Static(value, number, is_declared)


def static_text(value: Any) -> str:
    """Return a static value's text: a function's name, or what it prints as, unless that is an address."""
    if is_function(value):
        return name_of(value)
    try:
        text = repr(value)
    except Exception:  # a user's `__repr__`
        text = " object at 0x"
    return object_of_type(type(value).__name__) if " at 0x" in text else short(text)


def short(text: str, most: int = _SHORT) -> str:
    """Shorten a text that is too long for a sentence."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
