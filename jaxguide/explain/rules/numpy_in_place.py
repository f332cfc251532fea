"""Explain NumPy functions that change an array in place, given JAX's arrays or NumPy's read-only views of them."""

import ast
import re

import jax
import numpy as np

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called


@explains(error_texts.READ_ONLY)
def read_only_view(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `a = np.asarray(x)` and then `a[0] = 1.0`: NumPy reads JAX's memory, and must not change it."""
    held = scene.spot.first(scene.node, lambda value: isinstance(value, np.ndarray) and not value.flags.writeable)
    if held is None or not isinstance(held[0], ast.Name):
        return None
    name = held[0].id
    made = [
        node
        for node in ast.walk(scene.source.tree)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    if len(made) != 1 or scene.source.function(made[0]) is not scene.spot.function:
        return None
    call = made[0].value
    if not isinstance(call, ast.Call) or not call.args:
        return None
    function, given = scene.spot.value(call.func), scene.spot.value(call.args[0])
    if function is np.asarray and (isinstance(given, jax.Array) or _base_is_jax(held[1])):
        edit = scene.source.replace(call.func, f"{scene.np}.array")
    elif function is jax.device_get:
        edit = scene.source.replace(call, f"{scene.np}.array({scene.quote(call)})")
    else:
        return None
    return scene.explanation(
        "read_only_view",
        title="NumPy cannot change the memory of a JAX array",
        what=f"`{name}` was made by `{scene.quote(call)}`.",
        variable=name,
        why="It shares its memory with a JAX array, which never changes, so it is read-only.",
        fixes=[scene.fix("Make a copy, which can be changed.", edit)],
        link="https://docs.jax.dev/en/latest/faq.html",
    )


def _base_is_jax(value: np.ndarray) -> bool:
    """Return whether the memory of a NumPy array comes from JAX."""
    owner = getattr(value.base, "obj", None)
    return isinstance(owner, jax.Array) or type(owner).__module__.startswith("jaxlib")


@explains(error_texts.NUMPY_CHANGES)
def changed_by_numpy(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `np.fill_diagonal(x, 0)`, `np.copyto(x, y)`, `np.random.shuffle(x)` and `np.add(x, y, out=x)`."""
    call, statement = scene.node, scene.spot.statement
    if (
        not isinstance(call, ast.Call)
        or scene.spot.value(ast.Name(dotted(call.func).split(".")[0], ast.Load())) is not np
    ):
        return None
    name, out = called(call), argument_of(call, 99, "out")
    array = out if out is not None else argument_of(call, 0)
    value = scene.spot.value(array)
    if array is None or not isinstance(value, jax.Array):
        return None
    text = scene.quote(array)
    alone = isinstance(statement, ast.Expr) and statement.value is call and isinstance(array, ast.Name)
    new = _written(scene, call, name, array) if out is None else None
    fix: Fix | None = None
    if new is not None and alone:
        fix = scene.fix("Make a new array, and keep it.", scene.source.replace(call, f"{text} = {new}"))
    elif name == "shuffle":
        words = "Make a new array, from a key: `{random}.permutation(key, {name})`."
        fix = scene.advice(words.format(random=scene.random, name=text))
    else:
        words = "Make a new array with a function of JAX, and keep what it returns."
        fix = scene.advice(words)
    return scene.explanation(
        "changed_by_numpy",
        title=f"`{scene.quote(call.func)}` cannot change a JAX array",
        what=scene.what(text, value),
        variable=text,
        why="NumPy's function writes into its argument, and JAX arrays never change."
        if not is_tracer(value)
        else "NumPy's function writes into its argument now, and JAX arrays never change.",
        fixes=[fix],
        link=error_texts.AT_LINK,
    )


def _written(scene: Scene, call: ast.Call, name: str, array: ast.expr) -> str | None:
    """Return the expression that makes what NumPy's function would have written."""
    text, rest = scene.quote(array), [scene.quote(a) for a in call.args[1:]]
    if name == "fill_diagonal" and len(rest) == 1 and not call.keywords:
        return f"{scene.jnp}.fill_diagonal({text}, {rest[0]}, inplace=False)"
    if name == "copyto" and len(rest) == 1:
        masks = [keyword.value for keyword in call.keywords if keyword.arg == "where"]
        if len(masks) == len(call.keywords) == 1:
            return f"{scene.jnp}.where({scene.quote(masks[0])}, {rest[0]}, {text})"
        return None if call.keywords else f"{scene.jnp}.broadcast_to({rest[0]}, {text}.shape)"
    if name == "putmask" and len(rest) == 2 and not call.keywords:
        return f"{scene.jnp}.where({rest[0]}, {rest[1]}, {text})"
    return None
