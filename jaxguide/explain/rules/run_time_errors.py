"""Explain deleted arrays, NaN and infinity, and checks in a program that `checkify.checkify` does not wrap."""

import ast
import re

import jax
import numpy as np

from jaxguide.base.text import _
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, Spot, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import jit_call_of
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.jaxpr.value_words import array_type


@explains(error_texts.DELETED)
def deleted_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an array that was donated to a jitted function and used again."""
    part = scene.spot.first(scene.spot.statement, _is_deleted)
    if part is None:
        return None
    text, value = scene.quote(part[0]), part[1]
    giver = _donation(scene, text)
    fixes: list[Fix | None] = []
    if giver is not None:
        call, node = giver
        fixes.append(
            scene.fix(
                _("Give away a copy, and keep this one."),
                scene.source.replace(node, f"{scene.jnp}.copy({text})"),
            )
        )
        for function in scene.source.functions(called(call)):
            declared = jit_call_of(scene.source, function)
            if declared is not None:
                fixes.append(_without_donation(scene, declared))
        what = _("`{name}` was an array {type}, and was given away in `{call}`.").format(
            name=text, type=array_type(value), call=scene.quote(call)
        )
    else:
        what = _("`{name}` was an array {type}.").format(name=text, type=array_type(value))
        deletion = _deletion(scene, text)
        fixes.append(
            scene.fix(
                _("Delete it only when it is not needed any more."),
                scene.source.remove_statement(deletion) if deletion is not None else None,
                code=f"{text} = ...  # {_('make it anew')}" if deletion is None else "",
            )
        )
    return scene.explanation(
        "deleted_array",
        title=_("An array that is gone"),
        what=what,
        variable=text,
        why=_("A donated argument lends its memory to the result, so it cannot be read afterwards.")
        if giver is not None
        else _("Its memory was freed, so it cannot be read."),
        fixes=fixes,
        link="https://docs.jax.dev/en/latest/buffer_donation.html",
    )


@explains(error_texts.NAN)
def not_a_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a NaN or infinity that `jax_debug_nans` or `jax_debug_infs` found."""
    kind, primitive = found[1], found[2].rstrip(".")
    node = scene.node
    source = scene.source
    fixes: list[Fix | None] = []
    operand: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        operand = node.right
        top, bottom = scene.quote(node.left), scene.quote(operand)
        safe = f"{scene.jnp}.where({bottom} == 0, 1.0, {bottom})"
        fixes.append(
            scene.fix(
                _("Choose a safe divisor first, and the value for 0 after: so gradients stay finite too."),
                source.replace(node, f"{scene.jnp}.where({bottom} == 0, 0.0, {scene.atom(node.left)} / {safe})"),
            )
            if top
            else None
        )
    elif (
        isinstance(node, ast.Call) and len(node.args) == 1 and called(node) in ("log", "sqrt", "log2", "log10", "log1p")
    ):
        operand = node.args[0]
        inner, function = scene.quote(operand), scene.quote(node.func)
        edge = {"sqrt": ">= 0", "log1p": "> -1"}.get(called(node), "> 0")
        if called(node) != "sqrt":
            safe = f"{function}({scene.jnp}.where({inner} {edge}, {inner}, 1.0))"
        else:
            safe = f"{function}({scene.jnp}.where({inner} > 0, {inner}, 1.0))"
            edge = "> 0"
        fixes.append(
            scene.fix(
                _("Make the input safe first, and choose the value outside the domain after."),
                source.replace(node, f"{scene.jnp}.where({inner} {edge}, {safe}, 0.0)"),
            )
        )
    part = scene.spot.first(operand if operand is not None else node, lambda v: is_array(v) or isinstance(v, float))
    if part is None:
        return None
    text, value = scene.quote(part[0]), part[1]
    fixes.append(
        scene.fix(
            _("Find the first one, with its operands: `jaxguide.debug.find_nan`."),
            code="find_nan(f, *args)",
        )
    )
    shown = scene.what(text, value)
    if isinstance(value, jax.Array) and not is_tracer(value) and value.size <= 6:
        shown = _("`{name}` is {value} here.").format(name=text, value=np.asarray(value))
    elif isinstance(value, float):
        shown = _("`{name}` is {value} here.").format(name=text, value=value)
    return scene.explanation(
        "not_a_number",
        title=_("`{primitive}` made a {kind}").format(primitive=primitive, kind="NaN" if kind == "nan" else kind),
        what=shown,
        variable=text,
        why=_("For this input the result is no number; `jax_debug_nans` stops at the first place where that happens."),
        fixes=fixes,
        link="https://docs.jax.dev/en/latest/debugging/flags.html",
    )


@explains(error_texts.CHECKIFY)
def unwrapped_check(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `checkify.check` in a jitted function that `checkify.checkify` does not wrap."""
    call = scene.call()
    statement = scene.spot.statement
    if call is None or statement is None:
        return None
    function, arguments = scene.quote(call.func), [scene.quote(a) for a in call.args]
    arguments += [f"{k.arg}={scene.quote(k.value)}" for k in call.keywords]
    checked = f"checkify.checkify({function})({', '.join(arguments)})"
    indent = scene.source.indent(statement)
    edits = None
    if isinstance(statement, ast.Expr) and statement.value is call:
        edits = scene.source.replace(statement, f"error, _ = {checked}\n{indent}error.throw()")
    elif isinstance(statement, ast.Assign) and statement.value is call:
        target = scene.quote(statement.targets[0])
        edits = scene.source.replace(statement, f"error, {target} = {checked}\n{indent}error.throw()")
    return scene.explanation(
        "check_not_wrapped",
        title=_("A check that nobody carries out"),
        what=_("`{function}` has a `checkify.check` in it.").format(function=function),
        variable=function,
        why=_(
            "A compiled program cannot raise: `checkify.checkify` makes the error a result, which is raised outside."
        ),
        fixes=[scene.fix(_("Wrap the function, and raise what it found."), edits, code="" if edits else checked)],
        link="https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
    )


def _is_deleted(value: object) -> bool:
    return value is not MISSING and isinstance(value, jax.Array) and not is_tracer(value) and value.is_deleted()


def _donation(scene: Scene, name: str) -> tuple[ast.Call, ast.expr] | None:
    """Return the last call before the failing line, in the same function, that donates a name, and that argument."""
    best = None
    for call in scene.source.calls():
        if call.lineno > scene.spot.line.number or scene.source.function(call) is not scene.spot.function:
            continue
        for argument in call.args:
            if scene.quote(argument) == name and _donates(scene.spot, scene, call):
                best = (call, argument)
    return best


def _donates(spot: Spot, scene: Scene, call: ast.Call) -> bool:
    for function in scene.source.functions(called(call)):
        declared = jit_call_of(scene.source, function)
        if declared is not None and any((k.arg or "").startswith("donate") for k in declared.keywords):
            return True
    for node in ast.walk(scene.source.tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        named = isinstance(node.targets[0], ast.Name) and node.targets[0].id == called(call)
        if named and any((k.arg or "").startswith("donate") for k in node.value.keywords):
            return True
    return False


def _without_donation(scene: Scene, declared: ast.Call) -> Fix | None:
    rest = [k for k in declared.keywords if not (k.arg or "").startswith("donate")]
    arguments = [scene.quote(a) for a in declared.args] + [f"{k.arg}={scene.quote(k.value)}" for k in rest]
    text = f"{scene.quote(declared.func)}({', '.join(arguments)})"
    if dotted(declared.func).endswith("partial") and len(arguments) == 1:
        text = arguments[0]
    elif not arguments:
        text = scene.quote(declared.func)
    return scene.fix(_("Do not donate: the result then has memory of its own."), scene.source.replace(declared, text))


def _deletion(scene: Scene, name: str) -> ast.stmt | None:
    for node in ast.walk(scene.source.tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(node, ast.Expr) or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "delete" and scene.quote(call.func.value) == name:
            return node
    return None
