"""Explain traced values used where Python needs a number: `float`, `int`, `.item()`, `math`, `range`, list indices."""

import ast
import math
import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted, names_in
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.confirm import holds
from jaxguide.explain.rewrites.control_flow import (
    assigned_names,
    body_lines,
    changes_objects,
    leaves_early,
    operator_sign,
    read_after,
)
from jaxguide.explain.rewrites.static_arguments import size_arguments, static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called, is_traced_integer


@explains(error_texts.CONCRETE)
def python_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `float(x)`, `int(x)`, `complex(x)`, `x.item()`, `x.tolist()` and `math.sin(x)`."""
    node, source = scene.node, scene.source
    call = node if isinstance(node, ast.Call) else None
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):  # Python 3.12 reports the whole comprehension
        inside = [c for c in ast.walk(node) if isinstance(c, ast.Call) and called(c) in ("float", "int", "complex")]
        return _number_of_element(scene, inside[0]) if len(inside) == 1 else None
    if call is None:
        return None
    name = called(call)
    if name in ("item", "tolist") and isinstance(call.func, ast.Attribute) and not call.args:
        traced = scene.tracer(call.func.value)
        if traced is None:
            return None
        variable = scene.quote(traced[0])
        return scene.explanation(
            "item_of_tracer",
            title=f"`.{name}()` needs a known value, but `{variable}` is traced",
            what=scene.traced_what(variable, traced[1]),
            variable=variable,
            why=f"`.{name}()` makes a Python value now, while JAX records the program, and the value comes later.",
            fixes=[
                scene.fix(
                    "Leave it out: an array of shape () is a number for JAX. Call it on the result, outside."
                    if name == "item"
                    else "Leave it out, and compute with the array. Call it on the result, outside.",
                    source.replace(call, scene.quote(call.func.value)),
                )
            ],
        )
    traced = scene.tracer(call)
    if traced is None:
        return _number_of_element(scene, call)
    variable, tracer = scene.quote(traced[0]), traced[1]
    if name in ("float", "int", "complex") and isinstance(call.func, ast.Name) and len(call.args) == 1:
        keep = scene.fix(
            "Change the dtype and keep it an array, which goes into the program.",
            source.replace(call, f"{scene.atom(call.args[0])}.astype({name})"),
        )
        counted = _range_around(scene, call)
        if counted is not None and (name == "int") and static_fix(scene, tracer) is None:
            return _range_of_tracer(scene, counted)
        outer = source.parents.get(call)
        if isinstance(outer, ast.Subscript) and outer.slice is call:
            items = scene.spot.value(outer.value)
            if isinstance(items, list | tuple):
                return _index_of_list(scene, outer, traced, call.args[0])
            keep = None if isinstance(items, dict) else keep  # a traced number is no key
        static = static_fix(scene, tracer) if name == "int" else None
        if static is not None and static.edits and f"{scene.jnp}." in scene.quote(call.args[0]):
            new = re.sub(rf"(?<![\w.]){re.escape(scene.jnp)}\.", f"{scene.np}.", scene.quote(call.args[0]))
            static = scene.fix(
                f"Make `{variable}` static, and compute with NumPy what is known then.",
                *static.edits,
                source.replace(call.args[0], new),
            )
        if name == "int" and _makes_a_size(scene, call):
            keep = (
                None
                if static is not None
                else scene.advice(
                    "Compute it outside, and give it as a static argument: a size must be known while JAX records."
                )
            )
        first = [static] if static is not None and _is_size(scene, call) else [keep, static]
        return scene.explanation(
            "number_of_tracer",
            title=f"`{name}(...)` needs a known value, but `{variable}` is traced",
            what=scene.traced_what(variable, tracer),
            variable=variable,
            why=f"`{name}` makes a Python number now, while JAX records the program, and the value comes later.",
            fixes=first,
            link=error_texts.ERRORS_PAGE,
        )
    module, _dot, function = dotted(call.func).rpartition(".")
    if scene.spot.value(ast.parse(module or "None", mode="eval").body) is math:
        there = hasattr(jnp, function)
        edit = source.replace(call.func, f"{scene.jnp}.{function}") if there else None
        if function == "log" and len(call.args) == 2:
            one, base = (f"{scene.jnp}.log({scene.quote(argument)})" for argument in call.args)
            edit = source.replace(call, f"({one} / {base})")
        return scene.explanation(
            "math_on_tracer",
            title=f"`{scene.quote(call.func)}` needs a known value, but `{variable}` is traced",
            what=scene.traced_what(variable, tracer),
            variable=variable,
            why="The module `math` computes with Python numbers now, while JAX records the program.",
            fixes=[scene.fix("Use JAX's own function of that name.", edit)],
            link=f"{error_texts.API}/jax.numpy.{function}.html",
        )
    return None


@explains(error_texts.INTEGER)
def python_integer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `range(n)` and `items[i]`, for which Python needs an integer."""
    node = scene.node
    if isinstance(node, ast.Call) and called(node) == "range":
        return _range_of_tracer(scene, node)
    traced = _guilty_integer(scene, size_arguments(node) if isinstance(node, ast.Call) else [node])
    if isinstance(node, ast.Subscript):
        traced = scene.spot.first(node.slice, is_tracer)
    if traced is None:
        return None
    if isinstance(node, ast.Subscript):
        return _index_of_list(scene, node, traced, node.slice)
    if isinstance(node, ast.Call):
        variable, tracer = scene.quote(traced[0]), traced[1]
        return _needs_static(scene, variable, tracer, static_fix(scene, tracer), scene.quote(node.func))
    return None


def _index_of_list(
    scene: Scene, node: ast.Subscript, traced: tuple[ast.expr, Any], number: ast.expr
) -> Explanation | None:
    """Explain `items[i]` and `items[int(i)]`, where `number` is `i`."""
    variable, tracer = scene.quote(traced[0]), traced[1]
    static, what = static_fix(scene, tracer), scene.traced_what(variable, tracer)
    index, items, source = scene.quote(number), scene.quote(node.value), scene.source
    if number is not node.slice and _is_float(scene, number):
        index = f"{scene.atom(number)}.astype(int)"
    value = scene.spot.value(node.value)
    kinds = value if isinstance(value, list | tuple) else ()
    functions = bool(kinds) and all(callable(item) for item in kinds)
    unlike = len({np.shape(item) for item in kinds if is_array(item)}) > 1
    call = source.parents.get(node)
    if functions and isinstance(call, ast.Call) and call.func is node and not call.keywords:
        given = "".join(f", {scene.quote(argument)}" for argument in call.args)
        choose = scene.fix(
            "Let the program choose one of the functions: `lax.switch`.",
            source.replace(call, f"{scene.lax}.switch({index}, {items}{given})"),
        )
    elif value is not MISSING and (
        unlike or not all(is_array(i) or isinstance(i, int | float | complex | list) for i in value)
    ):
        choose = scene.advice(
            f"Let the program choose what is done for each entry: `lax.switch({index}, [...])`, with one "
            "function for each."
        )
        return _list_index(scene, variable, what, static, choose)
    else:
        stack = "stack" if any(is_array(item) and item.ndim for item in kinds) else "array"
        choose = scene.fix(
            "Make one array of the list: an array can be indexed by a traced number.",
            source.replace(node, f"{scene.jnp}.{stack}({items})[{index}]") if not functions else None,
        )
    return _list_index(scene, variable, what, choose, static)


def _guilty_integer(scene: Scene, nodes: Sequence[ast.AST]) -> tuple[ast.expr, Any] | None:
    """Return the traced integer that Python needed; if there are several, the one that JAX says it depends on."""
    parts = (one for node in nodes for one in scene.spot.parts(node))
    traced = {id(value): (part, value) for part, value in parts if is_traced_integer(value)}
    found = list(traced.values())
    if len(found) > 1:
        behind = error_texts.DEPENDS_ON.search(scene.message)
        found = [one for one in found if behind is not None and scene.quote(one[0]) == behind[1]]
    return found[0] if len(found) == 1 else None


def _list_index(scene: Scene, variable: str, what: str, *fixes: Fix | None) -> Explanation | None:
    return scene.explanation(
        "list_index_of_tracer",
        title=f"A list needs a known index, but `{variable}` is traced",
        what=what,
        variable=variable,
        why="A Python list is looked up now, while JAX records the program, and the index comes later.",
        fixes=fixes,
        link=error_texts.ERRORS_PAGE,
    )


def _needs_static(scene: Scene, variable: str, tracer: Any, static: Fix | None, function: str) -> Explanation | None:
    """Explain a function's argument that must be known while JAX traces."""
    return scene.explanation(
        "static_needed",
        title=f"`{function}` needs a known number, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=f"`{function}` uses this argument now, while JAX records the program, and its value comes later.",
        fixes=[static],
        link=error_texts.STATIC_LINK,
    )


def _number_of_element(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain `[float(v) for v in x]`, where `v` no longer exists when the error arrives."""
    if called(call) not in ("float", "int", "complex") or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
        return None
    name, text = called(call), scene.quote(call.args[0])
    return scene.explanation(
        "number_of_tracer",
        title=f"`{name}(...)` needs a known value, but `{text}` is traced",
        variable=text,
        why=f"`{name}` makes a Python number now, while JAX records the program, and the value comes later.",
        fixes=[
            scene.fix(
                "Change the dtype and keep it an array, which goes into the program.",
                scene.source.replace(call, f"{text}.astype({name})"),
            )
        ],
        link=error_texts.ERRORS_PAGE,
    )


def _is_size(scene: Scene, call: ast.Call) -> bool:
    """Return whether the integer that a call returns is used as a size or a count later."""
    statement = scene.source.statement(call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, function = statement.targets[0], scene.spot.function
        if isinstance(target, ast.Name) and function is not None:
            uses = [n for n in ast.walk(function) if isinstance(n, ast.Call) and n is not call]
            return any(target.id in names_in(use) for use in uses)
    outer = scene.source.parents.get(call)
    return isinstance(outer, ast.Call | ast.Tuple | ast.Slice)


def _makes_a_size(scene: Scene, call: ast.Call) -> bool:
    """Return whether an integer is used as the size of an array, for which a traced one does not serve."""
    makers = ("zeros", "ones", "full", "empty", "arange", "eye", "linspace", "reshape", "one_hot", "broadcast_to")
    statement = scene.source.statement(call)
    outer = scene.source.around(scene.source.parents.get(call), ast.Call)
    if outer is not None and called(outer) in makers:
        return True
    if scene.source.around(call, ast.Slice) is not None:
        return True
    function = scene.spot.function
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name) or function is None:
        return False
    name = statement.targets[0].id
    uses = [
        n for n in ast.walk(function) if isinstance(n, ast.Slice) or (isinstance(n, ast.Call) and called(n) in makers)
    ]
    return any(name in names_in(use) for use in uses)


def _range_of_tracer(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain `range(n)`, `range(2 * n)`, `range(x.max())` and `range(int(x[0]))` with traced values."""
    traced = scene.spot.first(call, is_traced_integer) or scene.tracer(call)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    static = static_fix(scene, tracer) if is_traced_integer(tracer) else None
    loop = _for_loop(scene, call)
    fixes = [loop if loop is not None and holds(scene, loop) else None, static]
    return scene.explanation(
        "range_of_tracer",
        title=f"`range` needs a known integer, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why="Python's `for` runs now and repeats what JAX records, and how often is not known yet.",
        fixes=fixes if any(fixes) else [_largest_count(scene, call)],
        link=f"{error_texts.API}/jax.lax.fori_loop.html",
    )


@explains(error_texts.INTEGER_SCALAR)
def range_of_float(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `range(n)` with a float array of shape ()."""
    call = scene.node
    if not isinstance(call, ast.Call) or called(call) != "range" or not isinstance(call.func, ast.Name):
        return None
    part = scene.spot.first(call, is_tracer) or scene.spot.first(call, is_array)
    if part is None:
        return None
    if is_tracer(part[1]):
        return _range_of_tracer(scene, call)
    text, value = scene.quote(part[0]), part[1]
    return scene.explanation(
        "range_of_float",
        title="`range` counts in integers, but was given a float",
        what=scene.what(text, value),
        variable=text,
        why="A float cannot say how often a loop turns, not even 3.0.",
        fixes=[
            scene.fix(
                "Make an integer of it.",
                *(scene.source.replace(a, f"int({scene.quote(a)})") for a in call.args if _is_float(scene, a)),
            )
            if value.ndim == 0
            else scene.advice(f"Give one number, such as `{text}.size`.")
        ],
        link="https://docs.python.org/3/library/stdtypes.html#range",
    )


def _range_around(scene: Scene, node: ast.AST) -> ast.Call | None:
    """Return the call of `range` whose argument contains a node."""
    outer = scene.source.parents.get(node)
    while isinstance(outer, ast.BinOp | ast.UnaryOp):
        outer = scene.source.parents.get(outer)
    return outer if isinstance(outer, ast.Call) and called(outer) == "range" else None


def _is_float(scene: Scene, node: ast.expr) -> bool:
    """Return whether an argument contains a floating-point array."""
    return any(is_array(v) and _is_floating(v) for _part, v in scene.spot.parts(node))


def _is_floating(value: Any) -> bool:
    return bool(jax.dtypes.issubdtype(value.dtype, np.floating))


def _bound(scene: Scene, node: ast.expr) -> str:
    """Return the text of an argument of `range`, converted to an integer for `lax.fori_loop`."""
    text = scene.quote(node)
    made = [c for c in ast.walk(node) if isinstance(c, ast.Call) and called(c) == "int" and scene.tracer(c) is not None]
    for call in made:
        text = text.replace(scene.quote(call), f"{scene.atom(call.args[0])}.astype(int)")
    traced = scene.tracer(node)
    narrow = traced is not None and str(traced[1].dtype) not in ("int32", "int64") and "key" not in str(traced[1].dtype)
    if not made and traced is not None and (_is_floating(traced[1]) or narrow):
        return f"{scene.atom(node)}.astype(int)"
    return text


def _largest_count(scene: Scene, call: ast.Call) -> Fix:
    """Return advice on repeating a fixed number of times, if the loop cannot be rewritten."""
    loop = scene.source.parents.get(call)
    index = scene.quote(loop.target) if isinstance(loop, ast.For | ast.comprehension) else "i"
    stop = _bound(scene, call.args[-1 if len(call.args) < 3 else 1])
    words = (
        "Repeat a largest number of times that is known, and keep the old value in the turns that are too many: "
        "`{jnp}.where({index} < {stop}, new, old)`."
    )
    return scene.advice(words.format(jnp=scene.jnp, index=index, stop=stop))


def _for_loop(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix that turns a `for` over `range` into `lax.fori_loop`."""
    loop, source = scene.source.parents.get(call), scene.source
    if not isinstance(loop, ast.For) or loop.iter is not call or not isinstance(loop.target, ast.Name):
        return None
    if loop.orelse or leaves_early(loop.body) or changes_objects(loop.body) or len(call.args) > 2:
        return None
    index = loop.target.id
    names = [n for n in assigned_names(loop.body) if n != index]
    made = {index, *names}
    names = [n for n in names if scene.spot.value(ast.Name(n, ast.Load())) is not MISSING]
    if not names or read_after(scene, loop, made - set(names)):
        return None
    start, stop = ["0", *(_bound(scene, argument) for argument in call.args)][-2:]
    carry, indent = ", ".join(names), source.indent(loop)
    sentence = "Let the program loop: `lax.fori_loop`. (`jax.grad` needs a static count.)"
    statement = loop.body[0]
    if len(names) == 1 and len(loop.body) == 1 and isinstance(statement, ast.Assign | ast.AugAssign):
        value = scene.quote(statement.value)
        if isinstance(statement, ast.AugAssign):
            value = f"{carry} {operator_sign(statement.op)} {scene.atom(statement.value)}"
        text = f"{carry} = {scene.lax}.fori_loop({start}, {stop}, lambda {index}, {carry}: {value}, {carry})"
        return scene.fix(sentence, source.replace(loop, text))
    argument = "carry" if len(names) > 1 else carry
    unpack = [f"{indent}    {carry} = carry"] if len(names) > 1 else []
    given = f"({carry})" if len(names) > 1 else carry
    lines = [
        f"def turn({index}, {argument}):",
        *unpack,
        *body_lines(scene, loop.body, indent + "    "),
        f"{indent}    return {carry}",
        f"{indent}{carry} = {scene.lax}.fori_loop({start}, {stop}, turn, {given})",
    ]
    return scene.fix(sentence, Edit(source.file, source.start(loop), source.end(loop), "\n".join(lines)))
