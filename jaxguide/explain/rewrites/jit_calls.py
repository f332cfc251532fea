"""Find the student's jitted function behind a call."""

import ast

from jaxguide.code.frames import is_library
from jaxguide.code.source import Source, source_of
from jaxguide.code.user_frame import MISSING, Spot
from jaxguide.explain.rewrites.static_arguments import is_jit
from jaxguide.explain.scene import Scene


def jitted_function(scene: Scene, call: ast.Call) -> tuple[Source, ast.FunctionDef | ast.Lambda] | None:
    """Return the source and the definition of the student's jitted function that a call calls."""
    value = scene.spot.value(call.func)
    if isinstance(call.func, ast.Call) and is_jit(call.func.func) and isinstance(call.func.args[0], ast.Lambda):
        return scene.source, call.func.args[0]
    if value is MISSING and isinstance(call.func, ast.Attribute):
        name = call.func.attr
        found = [f for f in scene.source.functions(name) if any(_jits(d) for d in f.decorator_list)]
        return (scene.source, found[0]) if found else None
    inner = getattr(value, "__wrapped__", None)
    if inner is None:
        made = scene.spot.value(call.func.func) if isinstance(call.func, ast.Call) else None
        kind = made if isinstance(made, type) else type(value)
        inner = getattr(vars(kind).get("__call__"), "__wrapped__", None)
    code = getattr(getattr(inner, "__func__", inner), "__code__", None)
    if code is None or not is_users(scene.spot, code.co_filename):
        return None
    source = source_of(code.co_filename)
    function = source.function_at(code.co_name, code.co_firstlineno) if source else None
    return (source, function) if source is not None and function is not None else None  # type: ignore[return-value]


def _jits(decorator: ast.expr) -> bool:
    return any(is_jit(node) for node in ast.walk(decorator))


def is_users(spot: Spot, file: str) -> bool:
    """Tell whether a file is the student\'s: the one at hand, or one of no library."""
    return file == spot.line.file or not is_library(file)


def function_name(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> str:
    """Return the name of a function as tracebacks have it."""
    return "<lambda>" if isinstance(function, ast.Lambda) else function.name
