"""Word the fix that makes an argument of a jitted function static, wherever `jax.jit` was written."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.explain import phrases
from jaxguide.explain.explanation import Edit, Fix
from jaxguide.explain.scene import Scene
from jaxguide.explain.source import FunctionNode, Source, arguments_of, dotted, source_of
from jaxguide.text import _


def static_fix(scene: Scene, tracer: Any, sentence: str = "") -> Fix | None:
    """Return the fix that makes static the argument of a jitted function on which a traced value depends.

    None where the value is computed, comes from several arguments, or is traced by something else than `jax.jit`.
    """
    by = compat.traced_by(tracer)
    if by.transformation not in ("jit", "pjit") or by.file is None or by.function is None or by.line is None:
        return None
    name = argument_behind(scene, tracer)
    source = source_of(by.file)
    if source is None or name is None:
        return None
    function = source.function_at(by.function, by.line)
    if function is None or name not in arguments_of(function):
        return None
    sentence = sentence or _("Make `{name}` static: JAX then compiles once for each value of it.").format(name=name)
    edits = static_edits(scene, source, function, name)
    if not edits:
        code = f'{scene.jax}.jit({by.function}, static_argnames="{name}")'
        return scene.fix(sentence, code=code)
    return scene.fix(sentence, *edits, *_call_edits(scene, function, name))


def argument_behind(scene: Scene, tracer: Any) -> str | None:
    """Return the argument of the jitted function whose value a tracer is, None where it is computed from one."""
    found = phrases.DEPENDS_ON.search(scene.message)
    for spot in reversed(scene.spots):
        if spot.source is None or spot.function is None:
            continue
        for name in arguments_of(spot.function):
            if spot.frame.f_locals.get(name) is tracer:
                if found is not None:
                    return found[1] if found[1].isidentifier() else None
                return name if spot.frame.f_code.co_name == compat.traced_by(tracer).function else None
    # A comparison such as `mode == 1` is not the argument, but nothing else goes into it.
    return None


def static_edits(scene: Scene, source: Source, function: FunctionNode, name: str) -> list[Edit]:
    """Return the edits that add a name to `static_argnames` where a function is jitted; none where none is found."""
    if isinstance(function, ast.FunctionDef):
        for decorator in function.decorator_list:
            if is_jit(decorator):
                return [source.insert_after(decorator, f'(static_argnames="{name}")')]
            if isinstance(decorator, ast.Call) and _is_jit_call(decorator):
                return _with_keyword(source, decorator, name)
        # `self.step = jax.jit(self.step)` and the like name it at the end
        wanted = function.name
        calls = [c for s in _sources(scene, source) for c in s.calls() if is_jit(c.func) and c.args]
        for call in calls:
            if dotted(call.args[0]).split(".")[-1] == wanted:
                home = next(s for s in _sources(scene, source) if call in s.parents)
                return _with_keyword(home, call, name)
    else:
        around = source.parents.get(function)
        if isinstance(around, ast.Call) and is_jit(around.func):
            return _with_keyword(source, around, name)
    return []


def is_jit(node: ast.AST) -> bool:
    """Tell whether an expression is `jax.jit` or `jit`."""
    return dotted(node).split(".")[-1] == "jit"


def jit_call_of(source: Source, function: ast.FunctionDef) -> ast.Call | None:
    """Return the call, as decorator or elsewhere, that jits a function with options."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _is_jit_call(decorator):
            return decorator
    for call in source.calls():
        if is_jit(call.func) and call.args and dotted(call.args[0]).split(".")[-1] == function.name:
            return call
    return None


def _is_jit_call(call: ast.Call) -> bool:
    partial = dotted(call.func).split(".")[-1] == "partial"
    return is_jit(call.func) or (partial and bool(call.args) and is_jit(call.args[0]))


def _with_keyword(source: Source, call: ast.Call, name: str) -> list[Edit]:
    for keyword in call.keywords:
        if keyword.arg == "static_argnames":
            value = keyword.value
            if isinstance(value, ast.Constant):
                names = [str(value.value)]
            elif isinstance(value, ast.Tuple | ast.List):
                names = [str(element.value) for element in value.elts if isinstance(element, ast.Constant)]
            else:
                return []
            return [source.replace(value, "(" + ", ".join(f'"{n}"' for n in [*names, name]) + ")")]
    last = (call.keywords[-1].value if call.keywords else None) or (call.args[-1] if call.args else None)
    if last is None:
        line, column = source.end(call)
        at = (line, column - 1)
        return [Edit(source.file, at, at, f'static_argnames="{name}"')]
    return [source.insert_after(last, f', static_argnames="{name}"')]


def _call_edits(scene: Scene, function: FunctionNode, name: str) -> list[Edit]:
    """Return the edits that pass a plain number where an array was passed, which cannot be static."""
    position = arguments_of(function).index(name)
    for spot in reversed(scene.spots[:-1]):
        call = spot.node
        if spot.source is None or not isinstance(call, ast.Call):
            continue
        given = next((k.value for k in call.keywords if k.arg == name), None)
        given = given or (call.args[position] if position < len(call.args) else None)
        if given is None:
            continue
        value = spot.value(given)
        array = isinstance(value, jax.Array | np.ndarray) or (isinstance(given, ast.Call) and "." in dotted(given.func))
        if array and not isinstance(value, jax.core.Tracer):
            return [spot.source.replace(given, f"int({spot.source.quote(given)})")]
        return []
    return []


def _sources(scene: Scene, source: Source) -> list[Source]:
    sources = [source]
    for spot in scene.spots:
        if spot.source is not None and spot.source not in sources:
            sources.append(spot.source)
    return sources
