"""Explain sizes that JAX must know while it traces: shapes, counts, axes, results whose size depends on values."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.masks import ENTRY_BY_ENTRY
from jaxguide.explain.rewrites.static_arguments import size_arguments, static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.rules.computed_sizes import is_of_known_numbers
from jaxguide.explain.scene import Scene, called, is_traced_integer
from jaxguide.explain.transformed import makers

# Functions whose result has a length that depends on values.
_SIZED = ("nonzero", "flatnonzero", "argwhere", "where", "unique")

# Functions whose last argument, given by position, is an axis.
_WITH_AXIS = frozenset(
    ("sum", "mean", "max", "min", "prod", "std", "var", "argmax", "argmin", "cumsum", "concatenate", "stack", "sort")
)


# Must come before `traced_size`, which matches this phrase too and takes any traced integer in the call for the size.
@explains(error_texts.SHAPE)
def shape_of_floats(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.zeros((3.0,))`, `jax.random.normal(key, (n / 2, 4))` and similar calls."""
    call, said = scene.call(), error_texts.SHAPE_ENTRIES.search(scene.message)
    if call is None or said is None or "Tracer" in said[1]:
        return None
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    shape = next((a for a in arguments if isinstance(a, ast.Tuple | ast.List) and _floats(scene, a.elts)), None)
    sizes = shape.elts if shape is not None else arguments
    wrong = _floats(scene, sizes)
    named = next((a for a in arguments if _is_tuple_of_floats(scene.spot.value(a))), None)
    edits: list[Edit] = [scene.source.replace(node, _whole(scene, node)) for node in wrong]
    if named is not None and shape is None:
        text = scene.quote(named)
        wrong, edits = [named], [scene.source.replace(named, f"tuple(int(n) for n in {text})")]
    if not wrong:
        return None
    text = scene.quote(wrong[0])
    return scene.explanation(
        "shape_of_floats",
        title=f"`{scene.quote(call.func)}` was given a shape that is not of integers",
        what=f"The shape is ({said[1]}) here.",
        variable=text,
        why="A size is counted, so it is an integer; `/` gives a float, even of two integers.",
        fixes=[scene.fix("Give an integer.", *edits)],
        link=f"{error_texts.API}/jax.numpy.zeros.html",
    )


# `booleans` and `python_numbers` match CONCRETE too and come earlier in `FAMILIES`: they explain truth values and calls
# of `int`, even if a size is computed from them.
@explains(error_texts.SHAPE, error_texts.CONCRETE, error_texts.PARAMETER)
def traced_size(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.zeros(n)`, `jnp.arange(n)`, `x.reshape(n, -1)`, `jax.random.normal(key, (n,))` and similar calls."""
    call = scene.call()
    if call is None:
        return None
    if called(call) in _SIZED:
        return _as_long_as_its_values(scene, call)
    whole = _transformed_itself(scene, call)
    if whole is not None:
        return whole
    traced = _traced_number(scene, call)
    if called(call) == "bincount":
        return _bincount(scene, call)
    if traced is None:
        return None
    node, tracer = traced
    variable, function = scene.quote(node), scene.quote(call.func)
    axis = called(call) not in ("zeros", "ones") and any(k.arg == "axis" and k.value is node for k in call.keywords)
    axis = axis or (called(call) in _WITH_AXIS and any(a is node for a in call.args[-1:]))
    if axis:
        title = f"`{function}` needs a known axis, but `{variable}` is traced"
        why = "Which axis goes decides the result's shape, and JAX must know every shape while it records."
    else:
        title = f"`{function}` needs a known size, but `{variable}` is traced"
        why = f"JAX must know every shape while it records the program, and the value of `{variable}` comes later."
    fixes = [
        _shape_fix(scene, node, tracer),
        static_fix(scene, *_traced_numbers(scene, call)),
        _repeat_fix(scene, call) or (None if axis else _bound_fix(scene, call, variable)),
    ]
    if not any(fixes):
        words = "Give it as a Python number that does not depend on values, such as a static argument."
        fixes = [scene.advice(words)]
    return scene.explanation(
        "axis_of_tracer" if axis else "shape_of_tracer",
        title=title,
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=why,
        fixes=fixes,
        link=error_texts.STATIC_LINK,
    )


def _traced_number(scene: Scene, call: ast.Call) -> tuple[ast.expr, Any] | None:
    """Return the traced integer among a call's arguments, preferably the one that JAX's message names."""
    behind = error_texts.DEPENDS_ON.search(scene.message)
    parts = [
        (part, value)
        for argument in size_arguments(call)
        for part, value in scene.spot.parts(argument)
        if is_tracer(value)
    ]
    numbers = [(part, value) for part, value in parts if is_traced_integer(value)]
    named = [(p, v) for p, v in numbers if behind is not None and scene.quote(p) == behind[1]]
    return next(iter([*named, *numbers[::-1]]), None)


def _traced_numbers(scene: Scene, call: ast.Call) -> list[Any]:
    """Return every traced integer among a call's arguments: all of them must be known."""
    return [v for argument in size_arguments(call) for _part, v in scene.spot.parts(argument) if is_traced_integer(v)]


def _shape_fix(scene: Scene, node: ast.expr, tracer: Any) -> Fix | None:
    """Return the fix for a size computed from a shape with `jnp`, which traces it: compute it with NumPy."""
    function = scene.spot.function
    if not isinstance(node, ast.Name) or function is None:
        return None
    found = [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id == node.id
    ]
    if len(found) != 1 or not is_of_known_numbers(scene, found[0]):
        return None
    text = scene.quote(found[0])
    new = re.sub(rf"\b{re.escape(scene.jnp)}\.", f"{scene.np}.", text)
    if new == text or not re.search(r"\.(shape|size|ndim)\b|\blen\(", text):
        return None
    return scene.fix(
        "A shape is known: compute with NumPy, which stays outside the program.",
        scene.source.replace(found[0], f"int({new})"),
    )


def _repeat_fix(scene: Scene, call: ast.Call) -> Fix | None:
    if called(call) != "repeat":
        return None
    return scene.fix(
        "Give the length of the result, which must not depend on values.",
        code=f"{scene.quote(call)[:-1]}, total_repeat_length=LENGTH)",
    )


def _bound_fix(scene: Scene, call: ast.Call, variable: str) -> Fix | None:
    """Return the fix that uses a fixed size and a mask."""
    if called(call) not in ("arange", "zeros", "ones", "full", "empty", "linspace"):
        return None
    return scene.fix(
        "Choose a largest size, compute at that, and mask what is too much.",
        code=f"{scene.jnp}.where({scene.jnp}.arange(LARGEST) < {variable}, values, 0)",
    )


def _as_long_as_its_values(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain `jnp.nonzero(x)`, `jnp.unique(x)` and one-argument `jnp.where`, whose result has an unknown shape."""
    traced = scene.tracer(call)
    if traced is None or not call.args:
        return None
    variable, first = scene.quote(traced[0]), call.args[0]
    function = scene.quote(call.func)
    known_shape = first if isinstance(first, ast.Name) or not _is_entry_by_entry(scene, first) else traced[0]
    size = f"{scene.atom(known_shape)}.size"
    fill = ", fill_value=0" if called(call) == "unique" else ""
    fixes = [
        scene.fix(
            "Give a size that is always enough; what is not needed is filled up (`fill_value=` says with what).",
            scene.source.insert_after(call.args[-1], f", size={size}{fill}"),
        )
    ]
    if called(call) in ("where", "nonzero", "flatnonzero", "argwhere"):
        fixes.append(
            scene.fix(
                "Do without indices: keep the shape and choose elementwise.",
                code=f"{scene.jnp}.where({scene.quote(first)}, value_if_true, value_if_false)",
            )
        )
    return scene.explanation(
        "size_of_result",
        title=f"`{function}` has a result whose size is not known",
        what=scene.traced_what(variable, traced[1]),
        variable=variable,
        why="How long the result is depends on the values, and JAX must know every shape while it records.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.{called(call)}.html",
    )


def _is_entry_by_entry(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression has as many entries as the one array in it, such as `jnp.abs(x) > 0.5`."""
    kinds = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Attribute, ast.Constant)
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    known = (*ENTRY_BY_ENTRY, "max", "min", "mean", "median", "sum")  # the last give one number
    mixing = [one for one in calls if called(one) not in known or len(one.args) != 1 or one.keywords]
    plain = all(isinstance(one, kinds) for one in ast.walk(node) if isinstance(one, ast.expr))
    products = any(isinstance(one, ast.MatMult) for one in ast.walk(node))
    arrays = {scene.quote(part) for part, value in scene.spot.parts(node) if is_array(value) and value.ndim}
    return plain and not mixing and not products and len(arrays) == 1


def _transformed_itself(scene: Scene, outer: ast.Call) -> Explanation | None:
    """Explain `jax.jit(jnp.unique)(x)`, where the call cannot pass a size."""
    made = next((m for m in makers(scene, outer) if m.args and not isinstance(m.args[0], ast.Call)), None)
    name = dotted(made.args[0]).split(".")[-1] if made is not None else ""
    if made is None or name not in ("nonzero", "flatnonzero", "argwhere", "unique") or not outer.args:
        return None
    variable, function = scene.quote(outer.args[0]), scene.quote(made.args[0])
    fill = ", fill_value=0" if name == "unique" else ""
    value = scene.spot.value(outer.args[0])
    return scene.explanation(
        "size_of_result",
        title=f"`{function}` has a result whose size is not known",
        what=scene.what(variable, value) if is_array(value) else "",
        variable=variable,
        why="How long the result is depends on the values, and JAX must know every shape while it records.",
        fixes=[
            scene.fix(
                "Give a size that is always enough; what is not needed is filled up (`fill_value=` says with what).",
                scene.source.replace(made.args[0], f"lambda a: {function}(a, size=a.size{fill})"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.{name}.html",
    )


def _bincount(scene: Scene, call: ast.Call) -> Explanation | None:
    traced = scene.tracer(call)
    if traced is None:
        return None
    variable = scene.quote(traced[0])
    return scene.explanation(
        "size_of_result",
        title=f"`{scene.quote(call.func)}` has a result whose size is not known",
        what=scene.traced_what(variable, traced[1]),
        variable=variable,
        why="The largest value decides how long the result is, and JAX must know every shape while it records.",
        fixes=[
            scene.fix(
                "Give the number of bins.",
                code=f"{scene.quote(call)[:-1]}, length=BINS)",
            )
        ],
        link=f"{error_texts.API}/jax.numpy.bincount.html",
    )


def _floats(scene: Scene, nodes: list[ast.expr]) -> list[ast.expr]:
    """Return the nodes that are floats: by their value, or as a quotient."""
    return [
        node
        for node in nodes
        if _is_float(scene.spot.value(node)) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
    ]


def _whole(scene: Scene, node: ast.expr) -> str:
    """Return the text of a size as an integer: `3` for `3.0`, `n // 2` for `n / 2`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value.is_integer():
        return str(int(node.value))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{scene.atom(node.left)} // {scene.atom(node.right)}"
    return f"int({scene.quote(node)})"


def _is_float(value: object) -> bool:
    if is_array(value) and not is_tracer(value):
        return value.ndim == 0 and bool(jax.dtypes.issubdtype(value.dtype, np.floating))  # type: ignore[attr-defined]
    return isinstance(value, float)


def _is_tuple_of_floats(value: object) -> bool:
    return value is not MISSING and isinstance(value, tuple | list) and any(_is_float(entry) for entry in value)
