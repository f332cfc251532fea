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

# Functions that take a size beside other numbers: its position and name.
_SIZE_OF: dict[str, tuple[int, str]] = {
    "full": (0, "shape"),
    "broadcast_to": (1, "shape"),
    "normal": (1, "shape"),
    "uniform": (1, "shape"),
    "randint": (1, "shape"),
    "bernoulli": (2, "shape"),
    "choice": (2, "shape"),
    "dynamic_slice": (2, "slice_sizes"),
    "dynamic_slice_in_dim": (2, "slice_size"),
    "linspace": (2, "num"),
    "logspace": (2, "num"),
    "geomspace": (2, "num"),
    "one_hot": (1, "num_classes"),
    "segment_sum": (2, "num_segments"),
    "segment_max": (2, "num_segments"),
    "segment_min": (2, "num_segments"),
    "repeat": (1, "repeats"),
    "split": (1, "num"),
}
# Functions whose result has the size that they are given.
SIZED_FUNCTIONS = ("zeros", "ones", "full", "empty", "arange", "eye", "linspace", "reshape", "one_hot", "broadcast_to")
_DERIVATIVES = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian")


def static_fix(scene: Scene, *tracers: Any) -> Fix | None:
    """Return the fix that makes static the arguments of a jitted function that hold these tracers.

    None if a value is an array, which has no hash, is computed, or is traced by something other than `jax.jit`.
    """
    place = jitted_by(scene, tracers[0])
    kinds = {argument_behind(scene, tracer): _python_type(tracer.dtype) for tracer in tracers}
    names = [name for name in kinds if name is not None]
    if place is None or any(tracer.ndim for tracer in tracers) or None in kinds:
        return None
    source, function = place
    if not set(names) <= set(arguments_of(function)):
        return None
    said = ", ".join(f"`{name}`" for name in names)
    sentence = f"Make {said} static: JAX then compiles once for each value."
    edits = static_edits(scene, source, function, *names)
    if not edits:
        name = getattr(function, "name", "function")
        return scene.fix(sentence, code=f"{scene.jax}.jit({name}, {static_keyword(names)})")
    calls = [_as_number(scene, function, name, kinds[name]) for name in names]
    return scene.fix(sentence, *edits, *(edit for edit in calls if edit is not None))


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
    behind = [
        name for text in error_texts.DEPENDS_ON.findall(scene.message) for name in re.split(r", and |, | and ", text)
    ]
    for spot in reversed(scene.spots):
        function = spot.function
        if function is None:
            continue
        for name in arguments_of(function):
            if spot.frame.f_locals.get(name) is not tracer:
                continue
            body = function.body if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
            jitted = spot.frame.f_code.co_name == compat.traced_by(tracer).function
            if jitted and name not in assigned_names(body):
                return name
            return behind[0] if len(behind) == 1 and behind[0].isidentifier() else None
    # An expression such as `mode == 1` does not count as the argument itself, even if it depends on nothing else.
    return None


def static_edits(scene: Scene, source: Source, function: FunctionNode, *names: str) -> list[Edit]:
    """Return the edits that add names to `static_argnames` where a function is jitted; empty if that is not found."""
    sources = dict.fromkeys([source, *(spot.source for spot in scene.spots if spot.source is not None)])
    return [
        edit for home, place in _jitted_at(list(sources), function) for edit in _edits(home, place, function, names)
    ]


def jit_call_of(source: Source, function: FunctionNode) -> ast.Call | None:
    """Return the call that jits a function, as a decorator with options or elsewhere, or None."""
    return next((place for _home, place in _jitted_at([source], function) if isinstance(place, ast.Call)), None)


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
    if not isinstance(decorator, ast.Call):
        return is_jit(decorator)
    partial = dotted(decorator.func).split(".")[-1] == "partial" and bool(decorator.args)
    return is_jit(decorator.args[0] if partial else decorator.func)


def _differentiated(node: ast.expr) -> ast.expr:
    """Return the function behind `jax.grad(f)`, which takes the same arguments; any other node is returned as it is."""
    while isinstance(node, ast.Call) and node.args and called(node) in _DERIVATIVES:
        node = node.args[0]
    return node


def is_jit(node: ast.AST) -> bool:
    """Return whether an expression is `jax.jit` or `jit`."""
    return dotted(node).split(".")[-1] == "jit"


def static_keyword(names: Sequence[str]) -> str:
    """Return the argument of `jax.jit` that makes arguments static, such as `static_argnames="n"`."""
    quoted = [f'"{name}"' for name in names]
    return f"static_argnames={quoted[0] if len(quoted) == 1 else '(' + ', '.join(quoted) + ')'}"


def _edits(source: Source, place: ast.expr, function: FunctionNode, names: Sequence[str]) -> list[Edit]:
    """Return the edits that make arguments static in a decorator or call; empty if it does not write out which are."""
    if not isinstance(place, ast.Call):
        return [source.insert_after(place, f"({static_keyword(names)})")]
    given = {keyword.arg: keyword.value for keyword in place.keywords}
    edits: list[Edit | None] = []
    if "static_argnums" in given:
        # Beside numbers, a name in `static_argnames` is static only where it is given by keyword.
        edits.append(_with_numbers(source, place, given["static_argnums"], function, names))
    if "static_argnames" in given:
        value = given["static_argnames"]
        elements = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        there = [str(one.value) for one in elements if isinstance(one, ast.Constant)]
        text = static_keyword([*there, *names]).partition("=")[2]
        edits.append(source.replace(value, text) if len(there) == len(elements) else None)
    if not edits:
        last = [*place.args, *(keyword.value for keyword in place.keywords)][-1:]
        line, column = source.end(place)
        at = (line, column - 1)
        keyword = static_keyword(names)
        edits = [source.insert_after(last[0], f", {keyword}") if last else Edit(source.file, at, at, keyword)]
    return [edit for edit in edits if edit is not None] if None not in edits else []


def _with_numbers(
    source: Source, call: ast.Call, value: ast.expr, function: FunctionNode, names: Sequence[str]
) -> Edit | None:
    """Return the edit that adds arguments to `static_argnums`; None if it is not written out, or one has no number."""
    written = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    there = [node.value for node in written if isinstance(node, ast.Constant) and isinstance(node.value, int)]
    places = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    if is_jit(call.func) and call.args and isinstance(call.args[0], ast.Attribute) and places[:1] == ["self"]:
        places = places[1:]  # `jax.jit(self.step)` does not get `self`
    if len(there) != len(written) or not set(names) <= set(places):
        return None
    numbers = dict.fromkeys([*there, *(places.index(name) for name in names)])
    inside = ", ".join(str(number) for number in numbers)
    return source.replace(value, f"({inside},)" if len(numbers) == 1 else f"({inside})")


def _python_type(dtype: Any) -> str:
    """Return the name of the Python type for a number of this dtype."""
    if jax.dtypes.issubdtype(dtype, np.bool_):
        return "bool"
    return "int" if jax.dtypes.issubdtype(dtype, np.integer) else "float"


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


def _as_number(scene: Scene, function: FunctionNode, name: str, kind: str) -> Edit | None:
    """Return the edit that passes a plain number in place of an array, which cannot be static."""
    place = given_for(scene, function, name)
    if place is None or place[0].source is None:
        return None
    (spot, given), source = place, place[0].source
    value = spot.value(given)
    array = isinstance(value, jax.Array | np.ndarray) or (isinstance(given, ast.Call) and "." in dotted(given.func))
    if not array or isinstance(value, jax.core.Tracer):
        return None
    return source.replace(given, f"{kind}({source.quote(given)})")


def size_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the argument of a call that is its size, if that is known, or else all arguments."""
    place = _SIZE_OF.get(called(call))
    size = argument_of(call, *place) if place is not None else None
    return [size] if size is not None else [*call.args, *(keyword.value for keyword in call.keywords)]


def static_names(declared: ast.Call, names: list[str]) -> list[str]:
    """Return the arguments that a call of `jax.jit` makes static, of a function with these arguments."""
    static: list[str] = []
    for keyword in declared.keywords:
        values = [node.value for node in ast.walk(keyword.value) if isinstance(node, ast.Constant)]
        if keyword.arg == "static_argnames":
            static += [str(value) for value in values]
        elif keyword.arg == "static_argnums":
            static += [names[value] for value in values if isinstance(value, int) and value < len(names)]
    return static


def without_static(source: Source, function: FunctionNode, name: str) -> Edit | None:
    """Return the edit that takes a name out of the static arguments, and the keyword with it if no other is left."""
    declared = jit_call_of(source, function) if isinstance(function, ast.FunctionDef) else None
    static = static_names(declared, arguments_of(function)) if declared is not None else []
    if declared is None or name not in static:
        return None
    rest = [k for k in declared.keywords if k.arg not in ("static_argnames", "static_argnums")]
    arguments = [source.quote(a) for a in declared.args] + [f"{k.arg}={source.quote(k.value)}" for k in rest]
    others = [one for one in static if one != name]
    arguments += [static_keyword(others)] if others else []
    if not arguments:
        return source.replace(declared, source.quote(declared.func))
    if dotted(declared.func).endswith("partial") and len(arguments) == 1:
        return source.replace(declared, arguments[0])
    return source.replace(declared, f"{source.quote(declared.func)}({', '.join(arguments)})")
