"""Explain Python's own functions on traced values, which ask for truth values: `max`, `min`, `any`, `all`, `sorted`."""

import ast
import re
from typing import Any

from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.conditions import as_array, condition
from jaxguide.explain.rewrites.control_flow import expression_of_if
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.traced_truths import (
    TracedTruth,
    asked_for,
    asks_python,
    decision_around,
    filter_around,
    traced_truth,
)


@explains(error_texts.BOOL)
def function_of_python(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a function of Python that asks for truth values which are not known while JAX traces."""
    node, at = asked_for(scene), traced_truth(scene)
    if not isinstance(node, ast.Call) or not asks_python(node) or at is None:
        return None
    if filter_around(scene, node) is not None:
        return None
    name = called(node)
    if name in ("max", "min"):
        return _extremum(at, node)
    if name in ("any", "all"):
        return _any_or_all(at, node)
    return _sorting(at, node) if name == "sorted" else _conversion(at, node)


def _extremum(at: TracedTruth, call: ast.Call) -> Explanation | None:
    """Explain the built-in `max` and `min`."""
    scene, name = at.scene, called(call)
    function = {"max": "maximum", "min": "minimum"}[name]
    if len(call.args) == 1:
        text = f"{scene.jnp}.{name}({as_array(scene, call.args[0])})"
    else:
        text = scene.quote(call.args[0])
        for argument in call.args[1:]:
            text = f"{scene.jnp}.{function}({text}, {scene.quote(argument)})"
    return at.said(
        "min_max_on_tracer",
        f"Python's `{name}` needs known values, but `{at.variable}` is traced",
        f"Python's `{name}` compares now and keeps one, while JAX records the program, and the values come later.",
        scene.fix(
            "Use JAX's own, which goes into the program and works elementwise.",
            None if call.keywords or _is_size(scene, call) else scene.source.replace(call, text),
        ),
        at.static_if_plain(),
        link=f"{error_texts.API}/jax.numpy.{function}.html",
    )


def _is_size(scene: Scene, call: ast.Call) -> bool:
    """Return whether a number is the size of a new array, which must be known whatever computes it."""
    outer = scene.source.around(scene.source.parents.get(call), (ast.Call, ast.stmt))
    return called(outer) in ("zeros", "ones", "full", "empty", "arange", "eye", "linspace", "reshape", "broadcast_to")


def _any_or_all(at: TracedTruth, call: ast.Call) -> Explanation | None:
    """Explain the built-in `any` and `all`."""
    scene, name = at.scene, called(call)
    test = decision_around(scene, call)
    text = f"{scene.jnp}.{name}({as_array(scene, call.args[0])})"
    why = "Python's `{name}` looks at one value after the other now, while JAX records the program."
    if isinstance(test, ast.If):
        edits = expression_of_if(scene, test)
        fix = scene.fix(f"Use `jnp.{name}`, and choose with `jnp.where`.", *edits.where)
    else:
        fix = scene.fix(f"Use `jnp.{name}`, which goes into the program.", scene.source.replace(call, text))
    return at.said(
        "any_all_on_tracer",
        f"Python's `{name}` needs known values, but `{at.variable}` is traced",
        why.format(name=name),
        fix or scene.fix(f"Use `jnp.{name}`, which goes into the program.", code=text),
        link=f"{error_texts.API}/jax.numpy.{name}.html",
    )


def _sorting(at: TracedTruth, call: ast.Call) -> Explanation | None:
    """Explain the built-in `sorted`."""
    scene = at.scene
    return at.said(
        "sorted_on_tracer",
        f"Python's `sorted` needs known values, but `{at.variable}` is traced",
        "Python's `sorted` compares values now to order them, while JAX records the program.",
        _sorted_by_jax(scene, call)
        or scene.advice(
            f"Order the entries of arrays by a key with `{scene.jnp}.argsort`, which gives their places: "
            f"`values[{scene.jnp}.argsort(keys)]`."
        ),
        link=f"{error_texts.API}/jax.numpy.sort.html",
    )


def _sorted_by_jax(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix that sorts single numbers with `jnp.sort`; None for a key, and for pairs and other records."""
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    backward = options.pop("reverse", None)
    known = backward is None or isinstance(scene.spot.value(backward), bool)
    if options or not known or not _holds_numbers(scene.spot.value(call.args[0])):
        return None
    text = f"{scene.jnp}.sort({as_array(scene, call.args[0])})"
    text += "[::-1]" if backward is not None and scene.spot.value(backward) else ""
    return scene.fix("Sort with `jnp.sort`, which goes into the program.", scene.source.replace(call, text))


def _holds_numbers(value: Any) -> bool:
    """Return whether a value is an array of one axis, or a list or tuple of single numbers."""
    if isinstance(value, list | tuple):
        return all(isinstance(one, int | float) or (is_array(one) and one.ndim == 0) for one in value)
    return is_array(value) and len(value.shape) == 1


def _conversion(at: TracedTruth, call: ast.Call) -> Explanation | None:
    """Explain `bool(...)`."""
    scene, value = at.scene, call.args[0]
    plain = isinstance(value, ast.Compare | ast.BoolOp)
    text = f"({condition(scene, value)})" if plain else f"{scene.atom(value)}.astype(bool)"
    return at.said(
        "bool_of_tracer",
        f"`bool(...)` needs a known value, but `{at.variable}` is traced",
        "`bool` makes a Python True or False now, while JAX records the program, and the value comes later.",
        scene.fix(
            "Keep it an array: of dtype bool, it serves as a condition of `jnp.where` and `lax.cond`.",
            scene.source.replace(call, text),
        ),
        at.static_if_plain(),
    )
