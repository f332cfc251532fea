"""Describe a call of a jitted function as `jax.jit` sees it."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MethodType
from typing import Any, NamedTuple

import jax

from jaxguide.base.text import _
from jaxguide.code.lines import Line, function_name
from jaxguide.jaxpr.value_words import array_type, describe, object_of_type
from jaxguide.tracing.jit_events import JitTrace, TraceProgress


class Leaf(NamedTuple):
    """The type of one array in an argument: as JAX prints it, whether it is weak, and the type of a Python number."""

    type: str
    weak: bool
    python: str

    def __str__(self) -> str:
        if self.python:
            return _("a Python {python} (weakly typed {type})").format(python=self.python, type=self.type)
        return _("weakly typed {type}").format(type=self.type) if self.weak else self.type


@dataclass(frozen=True, eq=False)
class Argument:
    """One argument of a call: a static value, or the types of its arrays by their path.

    Args:
        static: the value of a static argument; None for a traced one.
        is_static: whether it is static.
        structure: the pytree structure of a traced argument.
        leaves: its arrays' types by path, such as `['w']`; the path is empty for an argument that is a single array.
        container: what holds the arrays, such as 'a dict of 2'.
        named: whether it was passed by name.
    """

    static: Any
    is_static: bool
    structure: Any
    leaves: dict[str, Leaf]
    container: str
    named: bool

    def __str__(self) -> str:
        if self.is_static:
            return _value(self.static)
        if list(self.leaves) == [""]:
            return str(self.leaves[""])
        return self.container


@dataclass(frozen=True, eq=False)
class Signature:
    """What `jax.jit` compares to find an existing trace.

    Args:
        function: the function object.
        options: identifies the options of `jax.jit`.
        arguments: by parameter name.
        settings: the values of JAX's configuration.
        progress: whether the trace has finished.
    """

    function: Callable[..., Any]
    options: Any
    arguments: dict[str, Argument]
    settings: dict[str, Any]
    progress: TraceProgress


def signature(trace: JitTrace) -> Signature:
    """Return the signature of the call that causes a trace."""
    function = trace.function
    args, kwargs = trace.args or (), trace.kwargs or {}
    static_argnums = {number + len(args) if number < 0 else number for number in trace.static_argnums}
    found = {}
    for name, value, position in _bound(function, args, kwargs):
        static = position in static_argnums or name in trace.static_argnames
        found[name] = _argument(value, static, named=position is None)
    settings = {name: getattr(jax.config, name, None) for name in jax.config.values}
    return Signature(function, trace.options, found, settings, trace.progress)


def function_key(function: Any) -> tuple[Any, ...]:
    """Return a key that is equal for all function objects created from the same code."""
    key: list[Any] = []
    while function is not None and len(key) < 50:
        if isinstance(function, MethodType):
            function = function.__func__
        code = getattr(function, "__code__", None)
        key.append((code.co_filename, code) if code is not None else type(function))
        function = getattr(function, "func" if isinstance(function, functools.partial) else "__wrapped__", None)
    return tuple(key)


def name_of(function: Any) -> str:
    """Return the function's name as the user wrote it, in backticks; a lambda is identified by its line.

    >>> name_of(max), name_of(functools.partial(max, 1))
    ('`max`', 'the partial of `max`')
    """
    if isinstance(function, functools.partial):
        return _("the partial of {name}").format(name=name_of(function.func))
    name = function_name(function)
    code = getattr(_innermost(function), "__code__", None)
    if name == "<lambda>" and code is not None:
        return _("the lambda at {line}").format(line=Line(code.co_filename, code.co_firstlineno))
    return f"`{name}`"


def _innermost(function: Any) -> Any:
    while True:
        inner = getattr(function, "func" if isinstance(function, functools.partial) else "__wrapped__", None)
        if inner is None:
            return function
        function = inner


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Any, int | None]]:
    """Yield the name, value and position (None if passed by name) of each argument of a call."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    for i, value in enumerate(args):
        yield names[i] if i < len(names) else f"{rest}[{i - len(names)}]", value, i
    for name, value in kwargs.items():
        yield name, value, None


def _argument(value: Any, static: bool, *, named: bool) -> Argument:
    if static:
        return Argument(value, True, None, {}, "", named)
    leaves, structure = jax.tree_util.tree_flatten_with_path(value)
    types = {jax.tree_util.keystr(path): _leaf(leaf) for path, leaf in leaves}
    return Argument(None, False, structure, types, describe(value), named)


def _leaf(value: Any) -> Leaf:
    try:
        aval = jax.typeof(value)
    except TypeError:  # `jax.jit` will reject it
        return Leaf(describe(value), False, "")
    python = type(value).__name__ if isinstance(value, bool | int | float | complex) else ""
    weak = bool(getattr(aval, "weak_type", False))
    plain = array_type(aval) if hasattr(aval, "dtype") else str(aval)
    # With a mesh, the type also shows the sharding, as in float32[8@x].
    return Leaf(str(aval).lstrip("~") if "@" in str(aval) else plain, weak, python if weak else "")


def same(old: Any, new: Any) -> bool:
    """Return whether two values are equal, whatever their `__eq__` raises."""
    if old is new:
        return True
    try:
        return bool(old == new)
    except Exception:  # a user's `__eq__`
        return False


def _value(value: Any) -> str:
    if callable(value) and not isinstance(value, type):
        return name_of(value)
    text = repr(value)
    if " object at 0x" in text:
        return object_of_type(type(value).__name__)
    return short(text)


def short(text: str) -> str:
    """Shorten a text that is too long for a sentence."""
    return text if len(text) <= 60 else f"{text[:57]}..."
