"""Explain `range` of a traced number, and write its loop as `lax.fori_loop` where that is plain to see."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import _
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.branching import assigned_names, body_lines, leaves_early, operator_sign
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called, is_traced_integer


def range_of_tracer(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain `range(n)`, `range(2 * n)`, `range(x.max())` and `range(int(x[0]))` with traced values."""
    traced = scene.spot.first(call, is_traced_integer) or scene.tracer(call)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    static = static_fix(scene, tracer) if is_traced_integer(tracer) else None
    fixes = [_for_loop(scene, call), static]
    return scene.explanation(
        "range_of_tracer",
        title=_("`range` needs a number that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("Python's `for` runs now and repeats what JAX records, and how often is not known yet."),
        fixes=fixes if any(fixes) else [_largest_count(scene, call)],
        link=f"{error_texts.API}/jax.lax.fori_loop.html",
    )


@explains(error_texts.INTEGER_SCALAR)
def range_of_float(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `range(n)` with an array of shape () whose dtype is float."""
    call = scene.node
    if not isinstance(call, ast.Call) or called(call) != "range" or not isinstance(call.func, ast.Name):
        return None
    part = scene.spot.first(call, is_tracer) or scene.spot.first(call, is_array)
    if part is None:
        return None
    if is_tracer(part[1]):
        return range_of_tracer(scene, call)
    text, value = scene.quote(part[0]), part[1]
    return scene.explanation(
        "range_of_float",
        title=_("`range` counts in integers"),
        what=scene.what(text, value),
        variable=text,
        why=_("A float cannot say how often a loop turns, not even 3.0."),
        fixes=[
            scene.fix(
                _("Make an integer of it."),
                *(scene.source.replace(a, f"int({scene.quote(a)})") for a in call.args if _is_float(scene, a)),
            )
            if value.ndim == 0
            else scene.advice(_("Give one number, such as `{name}.size`.").format(name=text))
        ],
        link="https://docs.python.org/3/library/stdtypes.html#range",
    )


def range_around(scene: Scene, node: ast.AST) -> ast.Call | None:
    """Return the call of `range` in whose argument a node stands."""
    outer = scene.source.parents.get(node)
    while isinstance(outer, ast.BinOp | ast.UnaryOp):
        outer = scene.source.parents.get(outer)
    return outer if isinstance(outer, ast.Call) and called(outer) == "range" else None


def _is_float(scene: Scene, node: ast.expr) -> bool:
    """Tell whether a floating point number goes into an argument."""
    return any(is_array(v) and _is_floating(v) for _part, v in scene.spot.parts(node))


def _is_floating(value: Any) -> bool:
    return bool(jax.dtypes.issubdtype(value.dtype, np.floating))


def _bound(scene: Scene, node: ast.expr) -> str:
    """Return the text of an argument of `range` as the integer that `lax.fori_loop` takes."""
    text = scene.quote(node)
    made = [c for c in ast.walk(node) if isinstance(c, ast.Call) and called(c) == "int" and scene.tracer(c) is not None]
    for call in made:
        text = text.replace(scene.quote(call), f"{scene.atom(call.args[0])}.astype(int)")
    traced = scene.tracer(node)
    if not made and traced is not None and _is_floating(traced[1]):
        return f"{scene.atom(node)}.astype(int)"
    return text


def _largest_count(scene: Scene, call: ast.Call) -> Fix:
    """Say how to repeat a known number of times, where the loop cannot be rewritten."""
    loop = scene.source.parents.get(call)
    index = scene.quote(loop.target) if isinstance(loop, ast.For | ast.comprehension) else "i"
    stop = _bound(scene, call.args[-1 if len(call.args) < 3 else 1])
    words = _(
        "Repeat a largest number of times that is known, and keep the old value in the turns that are too many: "
        "`{jnp}.where({index} < {stop}, new, old)`."
    )
    return scene.advice(words.format(jnp=scene.jnp, index=index, stop=stop))


def _for_loop(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix that turns a `for` over `range` into `lax.fori_loop`."""
    loop, source = scene.source.parents.get(call), scene.source
    if not isinstance(loop, ast.For) or loop.iter is not call or not isinstance(loop.target, ast.Name):
        return None
    if loop.orelse or leaves_early(loop.body) or len(call.args) > 2:
        return None
    index = loop.target.id
    names = [n for n in assigned_names(loop.body) if n != index]
    names = [n for n in names if scene.spot.value(ast.Name(n, ast.Load())) is not MISSING]
    if not names:
        return None
    start, stop = ["0", *(_bound(scene, argument) for argument in call.args)][-2:]
    carry, indent = ", ".join(names), source.indent(loop)
    sentence = _("Let the program loop: `lax.fori_loop`. (`jax.grad` needs a static count.)")
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
