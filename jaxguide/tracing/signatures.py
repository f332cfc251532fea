"""Describe a call of a jitted function as `jax.jit` sees it."""

import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import jax

from jaxguide import compat
from jaxguide.compat.jit_calls import trace_context
from jaxguide.tracing.call_trees import Tree, static_of, tree_of
from jaxguide.tracing.functions import function_key, is_jitted, name_of, written_function
from jaxguide.tracing.jit_events import JitTrace, TraceProgress


@dataclass(frozen=True, eq=False)
class Argument:
    """One argument of a call.

    Args:
        value: the tree of a traced argument, or the value of a static one.
        is_static: whether it was declared static.
        named: whether it was passed by name.
    """

    value: Tree
    is_static: bool
    named: bool

    def __str__(self) -> str:
        return str(self.value)


class TracedFunction:
    """The function of a call, known without keeping it alive: JAX forgets the traces of functions that are deleted.

    Args:
        name: its name as printed, in backticks.
        key: equal for all function objects created from the same code.
        kind: its type.
        owner: the name of the type of the object whose method it is; empty for other functions.
        is_defined: whether it has code of its own.
        is_made: whether it wraps another function.
        made_by: the transformation of JAX that made it, such as `jax.grad`; empty if that is not known.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = name_of(function)
        self.key = function_key(function)
        self.kind = type(function)
        self.is_defined = hasattr(function, "__code__")
        self.owner = type(function.__self__).__name__ if isinstance(function, MethodType) else ""
        written = written_function(function)
        self.made_by = _maker(function)
        self.is_made = written is not None and hasattr(function, "__wrapped__")
        self._itself = _reference(function)
        self._owner = _reference(getattr(function, "__self__", None))
        self._written = _reference(written)

    def is_the_same(self, other: "TracedFunction") -> bool:
        """Return whether both are one function object, which is alive."""
        return _are_one(self._itself, other._itself)

    def has_the_same_owner(self, other: "TracedFunction") -> bool:
        """Return whether both are methods of one object."""
        return _are_one(self._owner, other._owner)

    def is_written_as(self, other: "TracedFunction") -> bool:
        """Return whether both run one Python function that is alive."""
        return _are_one(self._written, other._written)

    def is_made_of_the_same(self, other: "TracedFunction") -> bool:
        """Return whether both are made, as by `jax.grad`, of one function object that is alive."""
        return self.is_made and self.is_written_as(other)


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:  # None, or an object without weak references, which lives as long as the block
        return lambda: value


def _are_one(old: Callable[[], Any], new: Callable[[], Any]) -> bool:
    return old() is not None and old() is new()


def _maker(function: Any) -> str:
    """Return the transformation of JAX that made a function; empty if that is not known."""
    if is_jitted(function):
        return "jax.jit"
    inside = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_bound(cell)]
    for part in (function, *inside):  # JAX wraps what it makes once more, to filter tracebacks
        code = getattr(part, "__code__", None)
        if code is not None and compat.in_jax(code):
            maker = code.co_qualname.partition(".<locals>")[0]
            if maker != code.co_qualname and hasattr(jax, maker):
                return f"jax.{maker}"
    return ""


def _is_bound(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a variable that is not bound yet
        return False


@dataclass(frozen=True, eq=False)
class Signature:
    """What `jax.jit` compares to find an existing trace or program.

    Args:
        function: the function.
        options: the options of `jax.jit`.
        arguments: by parameter name.
        settings: JAX's settings and contexts that make a difference.
        progress: whether the trace has finished.
        is_wrapped: whether another library jits the function and decides what is static.
    """

    function: TracedFunction
    options: Any
    arguments: dict[str, Argument]
    settings: dict[str, Any]
    progress: TraceProgress
    is_wrapped: bool = False


def signature(trace: JitTrace) -> Signature:
    """Return the signature of the call that causes a trace."""
    args, kwargs = trace.args or (), trace.kwargs or {}
    static_argnums = {number + len(args) if number < 0 else number for number in trace.static_argnums}
    found = {}
    for name, value, position in _bound(trace.function, args, kwargs):
        static = position in static_argnums or name in trace.static_argnames
        tree = static_of(value, with_text=True) if static else tree_of(value, trace.traced)
        found[name] = Argument(tree, static, named=position is None)
    is_wrapped = trace.traced is not None
    function = TracedFunction(trace.function)
    return Signature(function, trace.options, found, trace_context(), trace.progress, is_wrapped)


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Any, int | None]]:
    """Yield the name, value and position (None if passed by name) of each argument of a call."""
    if not isinstance(function, FunctionType | MethodType) and jax.tree.leaves(function) != [function]:
        yield type(function).__name__, function, None  # a pytree that is called, such as a model
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
