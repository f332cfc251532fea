"""Find the transformation and the student's function behind a call of a transformed function."""

import ast
import inspect
import re
from collections.abc import Iterator

from jaxguide.code.frames import is_library
from jaxguide.code.source import FunctionNode, Source, arguments_of, source_of
from jaxguide.code.user_frame import MISSING, UserFrame
from jaxguide.explain.scene import Scene, argument_of

TRANSFORMS = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian")


def function_behind(spot: UserFrame, node: ast.expr | None) -> tuple[Source, FunctionNode] | None:
    """Return the definition of a student's function, given by name or as a lambda, and its source."""
    if isinstance(node, ast.Lambda) and spot.source is not None:
        return spot.source, node
    value = spot.value(node)
    if value is MISSING and isinstance(node, ast.Attribute):
        value = _method(spot.value(node.value), node.attr)
    code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
    source = source_of(code.co_filename) if code is not None and not is_library(code.co_filename) else None
    function = source.function_at(code.co_name, code.co_firstlineno) if source and code else None
    return (source, function) if source is not None and function is not None else None


def _method(owner: object, name: str) -> object:
    """Return the function behind `model.step`, without running any of the student's code."""
    found = inspect.getattr_static(type(owner), name, MISSING) if owner is not MISSING else MISSING
    return found.__func__ if isinstance(found, staticmethod | classmethod) else found


def defaults_of(function: FunctionNode) -> dict[str, ast.expr]:
    """Return the parameters of a function that have a default, with the default."""
    named = [*function.args.posonlyargs, *function.args.args]
    count = len(function.args.defaults)
    found = dict(zip([one.arg for one in named[len(named) - count :]], function.args.defaults, strict=True))
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return found | {one.arg: default for one, default in pairs if default is not None}


def parameters(function: FunctionNode) -> list[ast.arg]:
    """Return the positional parameters that a caller passes, without the `self` of a method."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[1:] if arguments and arguments[0].arg in ("self", "cls") else arguments


def returned(function: FunctionNode) -> ast.expr | None:
    """Return the one expression that a function returns, or None."""
    if isinstance(function, ast.Lambda):
        return function.body
    found = [node for node in own_nodes(function) if isinstance(node, ast.Return) and node.value is not None]
    return found[0].value if len(found) == 1 else None


def own_nodes(function: FunctionNode | ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes in the body of a function or file, without those of nested functions."""
    waiting: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def makers(scene: Scene, outer: ast.Call) -> Iterator[ast.Call]:
    """Yield the calls that created the called function, outermost first: `jax.jit(jax.grad(f))`, then `jax.grad(f)`.

    They are written in the call, or assigned to a name: `g = jax.jit(jax.grad(f))`.
    """
    made: ast.expr | None = outer.func
    if isinstance(made, ast.Name):
        made = set_to(scene.spot, made.id)
    while isinstance(made, ast.Call):
        yield made
        made = made.args[0] if made.args else None


def set_to(spot: UserFrame, name: str) -> ast.expr | None:
    """Return the expression that a name was set to, in the innermost scope around a frame's place that sets it.

    None if the name is a parameter, or if it is not certain which of several assignments counts.
    """
    source, here = spot.source, spot.node
    while source is not None and here is not source.tree:
        scope = source.function(here) or source.tree
        if not isinstance(scope, ast.Module) and name in arguments_of(scope):
            return None
        found = [node for node in own_nodes(scope) if isinstance(node, ast.Assign) and _sets(node, name)]
        if len(found) == 1:
            return found[0].value
        if found:  # one after the other, in the scope that is running: the last one counts
            straight = scope is (spot.function or source.tree) and all(source.parents[one] is scope for one in found)
            before = [node for node in found if node.lineno < spot.line.number]
            return before[-1].value if straight and before else None
        here = scope
    return None


def _sets(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def argnums(made: ast.Call | None) -> list[int]:
    """Return the `argnums` of a call of `jax.grad` or the like, by default [0]."""
    given = argument_of(made, 1, "argnums") if made is not None else None
    values = [n.value for n in ast.walk(given) if isinstance(n, ast.Constant)] if given is not None else []
    return [value for value in values if isinstance(value, int)] or [0]


def part_of(node: ast.expr, path: str) -> ast.expr | None:
    """Return the expression at a path such as `[0]['w']` in the containers that an expression writes out, or None."""
    part: ast.expr = node
    for step in re.findall(r"\[(.*?)\]|\.(\w+)", path):
        index = ast.literal_eval(step[0]) if re.fullmatch(r"\d+|'[^']*'", step[0]) else None
        if isinstance(part, ast.Tuple | ast.List) and isinstance(index, int) and index < len(part.elts):
            part = part.elts[index]
        elif isinstance(part, ast.Dict) and isinstance(index, str):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in part.keys]
            if index not in keys:
                return None
            part = part.values[keys.index(index)]
        else:
            return None
    return part
