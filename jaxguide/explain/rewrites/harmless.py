"""Decide from the source whether code can be traced once more: nothing read, written, drawn or changed elsewhere."""

import ast
import builtins
import dataclasses
import functools
import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.source import source_of
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.explain.rewrites.control_flow import CHANGING


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STATEMENTS = (
    ast.Assign,
    ast.AnnAssign,
    ast.Assert,
    ast.AugAssign,
    ast.Break,
    ast.Continue,
    ast.Expr,
    ast.For,
    ast.FunctionDef,
    ast.If,
    ast.Pass,
    ast.Raise,
    ast.Return,
    ast.While,
)
_BUILTINS = _words(
    "abs all any bool complex dict divmod enumerate float frozenset getattr hasattr int isinstance len list max min "
    "pow range repr reversed round set slice sorted str sum tuple zip"
)
# Parts of names of JAX's functions that do more than compute, and NumPy's functions that write, read or draw.
_ACTING = ("callback", "profil", "save", "load", "print", "breakpoint", "clear", "update", "distributed", "effect")
_WRITING = _words(
    "copyto fill_diagonal fromfile genfromtxt load loadtxt memmap place put put_along_axis putmask save savetxt savez "
    "savez_compressed set_printoptions seterr setbufsize shuffle"
)
_PURE_MODULES = frozenset({"math", "_operator", "operator", "itertools", "functools", "_functools", "jax", "jaxlib"})
# Methods of values that are not known before the code runs.
_METHODS = frozenset(name for name in dir(jax.Array) if not name.startswith("_")) - {"delete"} | _words(
    "items keys values get index count join format split strip startswith endswith lower upper _replace"
)

_DISPLAYS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
_DEEPEST = 4


def is_harmless(body: Sequence[ast.AST], names: Mapping[str, Any], depth: int = 0) -> bool:
    """Return whether running some statements on abstract values changes nothing but their own new objects.

    What cannot be decided counts as harmful.

    Args:
        body: the statements, or one expression.
        names: the values of the names that they read from elsewhere.
        depth: how many calls of the user's functions led here.
    """
    nodes = [node for statement in body for node in ast.walk(statement)]
    own = _own_names(nodes)
    fresh = _fresh_names(nodes)
    lookup = _Lookup(names, own)
    for node in nodes:
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            return False
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            base = node.value
            if isinstance(node, ast.Attribute) or not (isinstance(base, ast.Name) and base.id in fresh):
                return False
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            held = names.get(node.target.id, MISSING)
            if held is not MISSING and not isinstance(held, jax.Array | int | float | complex | str | tuple):
                return False
            if held is MISSING and node.target.id not in own:
                return False
        if isinstance(node, ast.Call) and not _is_harmless_call(node, lookup, fresh):
            return False
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            value = lookup.value(node)
            if isinstance(node, ast.Attribute) and _runs_code(lookup.value(node.value), value):
                return False
            if callable(value) and not is_array(value) and not _is_harmless_callable(value, depth):
                return False
    return True


class _Lookup:
    """The values of names and attributes that can be found without running code of the user's."""

    def __init__(self, names: Mapping[str, Any], own: set[str]):
        self.names = names
        self.own = own

    def value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            if node.id in self.own:
                return MISSING
            return self.names.get(node.id, getattr(builtins, node.id, MISSING))
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            if base is MISSING:
                return MISSING
            if isinstance(base, ModuleType) or is_array(base):
                return getattr(base, node.attr, MISSING)
            held = inspect.getattr_static(base, node.attr, MISSING)
            if isinstance(held, staticmethod | classmethod):
                return held.__func__
            return held
        return MISSING


def _runs_code(base: Any, value: Any) -> bool:
    """Return whether reading an attribute of the user's object runs code: a property, or `__getattr__`."""
    if base is MISSING or isinstance(base, ModuleType) or is_array(base):
        return False
    return isinstance(value, property | functools.cached_property) or (
        value is MISSING and hasattr(type(base), "__getattr__")
    )


def _is_harmless_call(call: ast.Call, lookup: _Lookup, fresh: set[str]) -> bool:
    """Return whether the shape of a call is one whose function `is_harmless` sees or knows."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in lookup.own or lookup.value(function) is not MISSING
    if isinstance(function, ast.Call | ast.Lambda):
        return True  # they are looked at themselves
    if not isinstance(function, ast.Attribute):
        return False
    if lookup.value(function) is not MISSING:
        return True
    base = function.value
    if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Attribute) and base.value.attr == "at":
        return True
    if function.attr in CHANGING:
        return isinstance(base, ast.Name) and base.id in fresh
    return function.attr in _METHODS


def _is_harmless_callable(value: Any, depth: int) -> bool:
    """Return whether a function only computes when it is called on abstract values."""
    inner = value
    for _layer in range(_DEEPEST):  # each wrapper runs too: JAX's own, or a decorator of the user's
        if inspect.getattr_static(inner, "__wrapped__", MISSING) is MISSING:
            break
        if isinstance(inner, FunctionType) and not compat.in_jax(inner.__code__):
            if not _is_harmless_function(inner, depth):
                return False
        elif not isinstance(inner, FunctionType) and not type(inner).__module__.startswith("jax"):
            return False
        inner = inner.__wrapped__
    if type(inner).__module__.split(".")[0] not in ("builtins", "functools", "numpy", "jax", "jaxlib"):
        # An object of the user's that can be called, or a class with a metaclass of its own.
        return isinstance(inner, type) and _is_plain_class(inner)
    if isinstance(inner, functools.partial):
        return _is_harmless_callable(inner.func, depth)
    inner = getattr(inner, "__func__", inner)
    home, name = str(getattr(inner, "__module__", "")), str(getattr(inner, "__name__", ""))
    if isinstance(inner, FunctionType) and not compat.in_jax(inner.__code__) and home.split(".")[0] != "numpy":
        return _is_harmless_function(inner, depth) if home.split(".")[0] not in _PURE_MODULES else True
    if home == "builtins":
        return name in _BUILTINS or (isinstance(inner, type) and issubclass(inner, BaseException))
    top = home.split(".")[0] or type(inner).__module__.split(".")[0]
    if top == "numpy" or isinstance(inner, np.ufunc):
        return not home.startswith("numpy.random") and name not in _WRITING
    if top in _PURE_MODULES:
        return not any(part in name.lower() for part in _ACTING)
    if isinstance(inner, type):
        return _is_plain_class(inner)
    return type(inner).__module__.split(".")[0] in ("jax", "jaxlib")


def _is_plain_class(made: type) -> bool:
    """Return whether making an object of a class runs no code of the user's: a NamedTuple, or a plain dataclass."""
    plain = dataclasses.is_dataclass(made) and not hasattr(made, "__post_init__")
    return plain or (issubclass(made, tuple) and hasattr(made, "_fields"))


def _is_harmless_function(function: FunctionType, depth: int) -> bool:
    """Return whether the source of a user's function is harmless, with all that it calls."""
    code = function.__code__
    source = source_of(code.co_filename)
    node = source.function_at(code.co_name, code.co_firstlineno) if source is not None else None
    if node is None or depth >= _DEEPEST:
        return False
    names: dict[str, Any] = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    names.pop(function.__name__, None)  # a recursion ends somewhere, or in the time limit
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            names.pop(argument.arg, None)
    body: Sequence[ast.AST] = node.body if isinstance(node.body, list) else [node.body]
    return is_harmless(body, names, depth + 1)


def _own_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names of functions and results that the code itself makes: what makes them is looked at already."""
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return own | _assigned_only(nodes, (ast.Lambda, ast.Call, ast.BinOp, ast.Constant, ast.UnaryOp, *_DISPLAYS))


def _fresh_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names to which the code only assigns lists, dicts and sets that it has just made."""
    return _assigned_only(nodes, _DISPLAYS)


def _assigned_only(nodes: Sequence[ast.AST], kinds: tuple[type[ast.expr], ...]) -> set[str]:
    right: set[str] = set()
    other: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    (right if isinstance(node.value, kinds) else other).add(target.id)
    return right - other
