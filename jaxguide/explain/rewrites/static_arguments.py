"""Build the fix that makes an argument of a jitted function static, wherever `jax.jit` is written."""

import ast
import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.edits import Edit
from jaxguide.code.source import FunctionNode, Source, arguments_of, dotted, source_of
from jaxguide.code.user_frame import UserFrame
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Fix
from jaxguide.explain.rewrites.control_flow import assigned_names
from jaxguide.explain.scene import Scene, argument_of, called

# The position and name of a size -> the functions that take it beside other numbers.
_SIZES = {
    (0, "shape"): "full",
    (1, "shape"): "broadcast_to normal uniform randint",
    (2, "shape"): "bernoulli choice",
    (2, "slice_sizes"): "dynamic_slice",
    (2, "slice_size"): "dynamic_slice_in_dim",
    (2, "num"): "linspace logspace geomspace",
    (1, "num_classes"): "one_hot",
    (2, "num_segments"): "segment_sum segment_max segment_min",
    (1, "repeats"): "repeat",
    (1, "num"): "split",
}
# Functions whose result has the size that they are given.
SIZED_FUNCTIONS = ("zeros", "ones", "full", "empty", "arange", "eye", "linspace", "reshape", "one_hot", "broadcast_to")
_DERIVATIVES = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian")


def static_fix(scene: Scene, *tracers: Any) -> Fix | None:
    """Return the fix that makes static the arguments of a jitted function that hold these tracers.

    None if a value is an array, which has no hash, is computed, or is traced by something other than `jax.jit`.
    """
    place, found = jitted_by(scene, tracers[0]), {argument_behind(scene, one): one for one in tracers}
    if place is None or any(one.ndim for one in tracers) or not set(found) <= set(arguments_of(place[1])):
        return None
    names = [str(name) for name in found]
    sentence = f"Make {', '.join(f'`{name}`' for name in names)} static: JAX then compiles once for each value."
    calls = [_as_number(scene, place[1], str(name), one.dtype) for name, one in found.items()]
    edits = static_edits(scene, *place, *names)
    return scene.fix(sentence, *edits, *filter(None, calls)) if edits else scene.advice(sentence)


def jitted_by(scene: Scene, tracer: Any) -> tuple[Source, FunctionNode] | None:
    """Return the student's jitted function that traces a value, and its source."""
    by = compat.traced_by(tracer)
    if by.transformation not in ("jit", "pjit") or by.file is None or by.function is None or by.line is None:
        return None
    source = source_of(by.file)
    function = source.function_at(by.function, by.line) if source is not None else None
    return (source, function) if source is not None and function is not None else None


def argument_behind(scene: Scene, tracer: Any) -> str | None:
    """Return the name of the jitted function's argument whose value is this tracer, or None if it is computed."""
    said = error_texts.DEPENDS_ON.findall(scene.message)
    behind = [name for text in said for name in re.split(r", and |, | and ", text)]
    for spot in reversed(scene.spots):
        function = spot.function
        for name in arguments_of(function) if function is not None else []:
            if spot.frame.f_locals.get(name) is not tracer:
                continue
            jitted = spot.frame.f_code.co_name == compat.traced_by(tracer).function
            if jitted and name not in assigned_names(function):  # type: ignore[arg-type]
                return name
            return behind[0] if len(behind) == 1 and behind[0].isidentifier() else None
    # An expression such as `mode == 1` does not count as the argument itself, even if it depends on nothing else.
    return None


def static_edits(scene: Scene, source: Source, function: FunctionNode, *names: str) -> list[Edit]:
    """Return the edits that add names to `static_argnames` where a function is jitted; empty if that is not found."""
    sources = dict.fromkeys([source, *(spot.source for spot in scene.spots if spot.source is not None)])
    edits = [_declared(home, place, function, names) for home, place in _jitted_at(list(sources), function)]
    return [edit for edit in edits if edit is not None] if None not in edits else []


def static_names(source: Source, function: FunctionNode) -> list[str] | None:
    """Return the arguments of a function that are static where it is jitted; None if that is not written out."""
    return next((_static_in(place, function) for _home, place in _jitted_at([source], function)), None)


def _jitted_at(sources: Sequence[Source], function: FunctionNode) -> list[tuple[Source, ast.expr]]:
    """Return the decorator and the call that jit a function of the first source, as far as there are such."""
    source = sources[0]
    if not isinstance(function, ast.FunctionDef):
        around = source.parents.get(function)
        while isinstance(around, ast.Call) and _differentiated(around) is function:
            around = source.parents.get(around)
        return [(source, around)] if isinstance(around, ast.Call) and is_jit(around.func) else []
    found: list[tuple[Source, ast.expr]] = [(source, one) for one in function.decorator_list if _jits(one)][:1]
    for home in sources:
        for call in home.calls():
            inner = _differentiated(call.args[0]) if is_jit(call.func) and call.args else call
            # In `self.step = jax.jit(self.step)` the last name counts. A function that is already jitted may be jitted
            # again, by `jax.jit(jax.grad(step))`.
            again = bool(found) and call.args[:1] == [inner]
            if inner is not call and dotted(inner).split(".")[-1] == function.name and not again:
                return [*found, (home, call)]
    return found


def _jits(decorator: ast.expr) -> bool:
    """Return whether a decorator is `jax.jit`, a call of it, or `partial(jax.jit, ...)`."""
    parts = [decorator.func, *decorator.args[:1]] if isinstance(decorator, ast.Call) else [decorator]
    return any(map(is_jit, parts))


def _differentiated(node: ast.expr) -> ast.expr:
    """Return the function behind `jax.grad(f)`, which takes the same arguments; any other node is returned as it is."""
    while isinstance(node, ast.Call) and node.args and called(node) in _DERIVATIVES:
        node = node.args[0]
    return node


def is_jit(node: ast.AST) -> bool:
    """Return whether an expression is `jax.jit` or `jit`."""
    return dotted(node).split(".")[-1] == "jit"


def _static_keyword(names: Sequence[str]) -> str:
    """Return the argument of `jax.jit` that makes arguments static, such as `static_argnames="n"`."""
    quoted = [f'"{name}"' for name in names]
    return f"static_argnames={quoted[0] if len(quoted) == 1 else '(' + ', '.join(quoted) + ')'}"


def _static_in(place: ast.expr, function: FunctionNode) -> list[str] | None:
    """Return the arguments that are static in a decorator or call of `jax.jit`; None if they are not written out."""
    static: list[str] = []
    places = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    if isinstance(place, ast.Call) and place.args and isinstance(place.args[0], ast.Attribute) and is_jit(place.func):
        places = places[places[:1] == ["self"] :]  # `jax.jit(self.step)` does not get `self`
    for keyword in getattr(place, "keywords", []):
        if keyword.arg in ("static_argnums", "static_argnames"):
            try:
                given = ast.literal_eval(keyword.value)
                given = given if isinstance(given, tuple | list) else [given]
                static += [one if isinstance(one, str) else places[one] for one in given]
            except (ValueError, IndexError):
                return None
    return static


def _declared(source: Source, place: ast.expr, function: FunctionNode, names: Sequence[str]) -> Edit | None:
    """Return the edit that makes arguments static in a decorator or call of `jax.jit`."""
    there = _static_in(place, function)
    if not isinstance(place, ast.Call) or there is None:
        return source.insert_after(place, f"({_static_keyword(names)})") if there is not None else None
    given = [*place.args, *(keyword.value for keyword in place.keywords)]
    if not there and given:
        return source.insert_after(given[-1], f", {_static_keyword(names)}")
    texts = [source.quote(one) for one in place.args]
    texts += [f"{one.arg}={source.quote(one.value)}" for one in place.keywords if "static" not in str(one.arg)]
    texts += [_static_keyword(list(dict.fromkeys([*there, *names])))]
    return source.replace(place, f"{source.quote(place.func)}({', '.join(texts)})")


def given_for(scene: Scene, function: FunctionNode, name: str) -> tuple[UserFrame, ast.expr] | None:
    """Return what the nearest outer call gives for an argument of a function, and the frame of that call."""
    names = arguments_of(function)
    for spot in reversed(scene.spots[:-1]):
        if spot.source is None or not isinstance(spot.node, ast.Call):
            continue
        bound = names[:1] == ["self"] and isinstance(spot.node.func, ast.Attribute)
        given = argument_of(spot.node, names.index(name) - bound, name)
        if given is not None:
            return spot, given
    return None


def _as_number(scene: Scene, function: FunctionNode, name: str, dtype: Any) -> Edit | None:
    """Return the edit that passes a plain number in place of an array, which cannot be static."""
    spot, given = given_for(scene, function, name) or (scene.spot, None)
    value = spot.value(given)
    array = isinstance(value, jax.Array | np.ndarray) or (isinstance(given, ast.Call) and "." in dotted(given.func))
    if given is None or spot.source is None or not array or isinstance(value, jax.core.Tracer):
        return None
    kind = "bool" if dtype.name == "bool" else "int" if jax.dtypes.issubdtype(dtype, np.integer) else "float"
    return spot.source.replace(given, f"{kind}({spot.source.quote(given)})")


def size_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the argument of a call that is its size, if that is known, or else all arguments."""
    place = next((place for place, names in _SIZES.items() if called(call) in names.split()), None)
    size = argument_of(call, *place) if place is not None else None
    return [size] if size is not None else [*call.args, *(keyword.value for keyword in call.keywords)]
