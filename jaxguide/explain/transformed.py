"""Find what a call of a transformed function is made of: the transformation, and the student's own function."""

import ast
from collections.abc import Iterator

from jaxguide.explain.scene import Scene, called
from jaxguide.explain.source import FunctionNode, Source, source_of
from jaxguide.explain.spot import Spot

TRANSFORMS = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian")


def function_behind(spot: Spot, node: ast.expr | None) -> tuple[Source, FunctionNode] | None:
    """Return the definition of a student's function, given by name or written on the spot."""
    if isinstance(node, ast.Lambda) and spot.source is not None:
        return spot.source, node
    value = spot.value(node)
    code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
    source = source_of(code.co_filename) if code is not None else None
    function = source.function_at(code.co_name, code.co_firstlineno) if source and code else None
    return (source, function) if source is not None and function is not None else None


def returned(function: FunctionNode) -> ast.expr | None:
    """Return the one expression that a function returns."""
    if isinstance(function, ast.Lambda):
        return function.body
    found = [node for node in own_nodes(function) if isinstance(node, ast.Return) and node.value is not None]
    return found[0].value if len(found) == 1 else None


def own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of the functions inside it."""
    waiting: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def transformation(scene: Scene, outer: ast.Call) -> ast.Call | None:
    """Return the call of `jax.grad` or its like behind `jax.grad(f)(x)`, `g = jax.grad(f); g(x)` or a decorator."""
    if isinstance(outer.func, ast.Call) and called(outer.func) in TRANSFORMS:
        return outer.func
    if isinstance(outer.func, ast.Name):
        for node in ast.walk(scene.source.tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == outer.func.id
            ):
                value: ast.expr = node.value
                while isinstance(value, ast.Call):
                    if called(value) in TRANSFORMS:
                        return value
                    value = value.args[0] if value.args else ast.Constant(None)
    return None


def argnums(made: ast.Call) -> int:
    for keyword in made.keywords:
        if keyword.arg == "argnums":
            values = [n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant)]
            return int(values[0]) if values else 0  # type: ignore[arg-type]
    return 0


def definition_of(scene: Scene, node: ast.expr) -> tuple[Source, ast.expr] | None:
    """Return the one expression that a student's function returns, with its source."""
    found = function_behind(scene.spot, node)
    if found is None:
        return None
    source, function = found
    if isinstance(function, ast.Lambda):
        return source, function.body
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    return (source, returns[0].value) if len(returns) == 1 and returns[0].value is not None else None
