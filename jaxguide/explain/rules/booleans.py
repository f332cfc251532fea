"""Explain traced values where Python needs True or False: `while`, `assert`, `and`, `not`, `in`, and calls."""

import ast
import re

import jax
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.conditions import (
    as_array,
    condition,
    decided_by_python,
    is_comparison,
    leaves,
    logical,
    split_test,
)
from jaxguide.explain.rewrites.control_flow import expression_of_if, loop_of_while
from jaxguide.explain.rewrites.run_time_checks import run_time_check
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.explain.traced_truths import (
    TracedTruth,
    asked_for,
    asks_python,
    decision_around,
    filter_around,
    traced_truth,
)


# This error matches CONCRETE too, which `python_numbers` and `sizes` explain; both come later in `FAMILIES`.
@explains(error_texts.BOOL)
def truth_of_a_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a truth value that Python needs but that is not known while JAX traces; `choices` explains `if`."""
    node, at = asked_for(scene), traced_truth(scene)
    if at is None or asks_python(node) or filter_around(scene, node) is not None:
        return None
    call = node if isinstance(node, ast.Call) else None
    if call is not None and scene.library is not None:  # also in a test: the function that is called asks
        return _inside_a_call(at, call)
    decision = decision_around(scene, node)
    if isinstance(decision, ast.While):
        return _while_statement(at, decision)
    if isinstance(decision, ast.Assert):
        return _assertion(at, decision)
    if decision is not None:
        return None
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
        return _membership(at, node)
    logic = scene.source.around(node, (ast.BoolOp, ast.Compare, ast.UnaryOp))
    if logic is not None and scene.source.statement(logic) is scene.spot.statement and call is None:
        return _logic(at, logic)
    return _inside_a_call(at, call) if call is not None else None


def _while_statement(at: TracedTruth, node: ast.While) -> Explanation | None:
    """Explain `while`."""
    scene = at.scene
    why = "Python's `while` asks before every turn, while JAX records the program, and no value is there yet."
    edit = loop_of_while(scene, node)
    loop = scene.fix(
        "Let the program loop: `lax.while_loop` (forward mode only: `jax.grad` cannot go back through it).",
        edit,
        code="" if edit else f"{scene.lax}.while_loop(condition, body, start)",
    )
    return at.said(
        "while_on_tracer",
        f"`while` needs a known value, but `{at.variable}` is traced",
        why,
        loop,
        at.static_if_plain(),
        link=f"{error_texts.API}/jax.lax.while_loop.html",
    )


def _assertion(at: TracedTruth, node: ast.Assert) -> Explanation | None:
    """Explain `assert`."""
    scene, said = at.scene, getattr(node.msg, "value", None)
    guard = decided_by_python(scene, node.test)
    return at.said(
        "assert_on_tracer",
        f"`assert` needs a known value, but `{at.variable}` is traced",
        "`assert` looks at the value now, while JAX records the program, and the value comes later.",
        split_test(scene, guard) if guard is not None else _marked_with_nan(at, node),
        run_time_check(
            scene,
            at.tracer,
            (
                "Check at run time in place of `assert`; call the outermost function through `checkify`, and let "
                "`throw` raise."
            ),
            node.test,
            said if isinstance(said, str) else scene.quote(node.test),
        )
        if guard is None
        else None,
        link="https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
    )


def _marked_with_nan(at: TracedTruth, node: ast.Assert) -> Fix | None:
    """Return the fix that marks a forbidden value with NaN; None for integers, which have none."""
    scene = at.scene
    if not jax.dtypes.issubdtype(at.tracer.dtype, np.inexact):
        return None
    new = f"{at.variable} = {scene.jnp}.where({condition(scene, node.test)}, {at.variable}, {scene.jnp}.nan)"
    return scene.fix(
        "Mark what must not happen with NaN, and look at the result outside.",
        scene.source.replace(node, new) if at.variable.isidentifier() else None,
    )


def _logic(at: TracedTruth, node: ast.expr) -> Explanation | None:
    """Explain `and`, `or`, `not` and `0 < x < 1`."""
    scene = at.scene
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return None
    words = {ast.And: "and", ast.Or: "or"}
    if isinstance(node, ast.BoolOp):
        word, kind = words[type(node.op)], "and_or_on_tracer"
    elif isinstance(node, ast.UnaryOp):
        word, kind = "not", "not_on_tracer"
    else:
        word, kind = scene.quote(node), "chained_comparison_on_tracer"
    outer = scene.source.parents.get(node)
    top = outer if isinstance(outer, ast.BoolOp) else node
    guard, taker = decided_by_python(scene, top), _taker(scene, top)
    title = f"`{word}` needs a known value, but `{at.variable}` is traced"
    why = "Python's `{word}` decides now what is true, while JAX records the program; it cannot be recorded.".format(
        word="and" if kind.startswith("chained") else word
    )
    if guard is not None:
        return at.said(kind, title, why, split_test(scene, guard), at.static_if_plain())
    if taker is not None:
        words_only = scene.advice(f"Write `{logical(scene, top)}`, if `{taker}` can take a traced value.")
        return at.said(kind, title, why, at.static, words_only, link=error_texts.STATIC_LINK)
    fix = scene.fix(
        "Combine elementwise, with parentheses: `&`, `|`, `~` are `and`, `or`, `not` for arrays.",
        scene.source.replace(top, condition(scene, top)),
    )
    chosen = _one_of_two_values(scene, top)
    functions = scene.fix(
        "With functions, which take numbers for truth values too."
        if chosen is None
        else "If a truth value is meant: with functions, which take numbers for truth values too.",
        scene.source.replace(top, logical(scene, top)),
    )
    compared = all(is_comparison(part) for part in leaves(top))
    return at.said(
        kind,
        title,
        why,
        chosen,
        fix if compared else functions,
        functions if compared else None,
        at.static_if_plain(),
        link=f"{error_texts.API}/jax.numpy.logical_and.html",
    )


def _one_of_two_values(scene: Scene, node: ast.expr) -> Fix | None:
    """Return the fix for `scale or 1.0` with a number, whose value is one of both, and not a truth value."""
    if not isinstance(node, ast.BoolOp) or len(node.values) != 2:
        return None
    value = scene.spot.value(node.values[0])
    if not is_array(value) or value.dtype == bool:
        return None
    first, second = (scene.quote(one) for one in node.values)
    test = f"{scene.atom(node.values[0])} != 0"
    word, sides = ("or", (first, second)) if isinstance(node.op, ast.Or) else ("and", (second, first))
    return scene.fix(
        f"If a number is meant: `{word}` gives one of its two values, and `jnp.where` chooses it.",
        scene.source.replace(node, f"{scene.jnp}.where({test}, {', '.join(sides)})"),
    )


def _taker(scene: Scene, node: ast.expr) -> str | None:
    """Return the text of a function, not of JAX, that is given a truth value and may itself need it to be known."""
    outer = scene.source.parents.get(node)
    outer = scene.source.parents.get(outer) if isinstance(outer, ast.keyword) else outer
    if not isinstance(outer, ast.Call) or outer.func is node:
        return None
    value = scene.spot.value(outer.func)
    if value is MISSING:  # a method: of an array, or of a model, whose layers need options to be known
        base = outer.func.value if isinstance(outer.func, ast.Attribute) else None
        return None if base is not None and is_array(scene.spot.value(base)) else scene.quote(outer.func)
    module = getattr(value, "__module__", None) or ""
    of_jax = module.split(".")[0] in ("jax", "jaxlib", "numpy") or module == "builtins"
    return None if of_jax else scene.quote(outer.func)


def _membership(at: TracedTruth, node: ast.Compare) -> Explanation | None:
    """Explain `in`."""
    scene = at.scene
    container, item = node.comparators[0], scene.quote(node.left)
    values = as_array(scene, container)
    negated = isinstance(node.ops[0], ast.NotIn)
    text = f"{scene.jnp}.any({values} == {item})"
    text = f"~{text}" if negated else text
    outer = decision_around(scene, node)
    fix = None
    if isinstance(outer, ast.If):
        fix = scene.fix("Compare with all of them and choose with `jnp.where`.", *expression_of_if(scene, outer).where)
    fix = fix or scene.fix("Compare with all of them at once.", scene.source.replace(node, text))
    return at.said(
        "in_on_tracer",
        f"`in` needs known values, but `{at.variable}` is traced",
        "Python's `in` compares now until one is equal, while JAX records the program, and no value is there yet.",
        fix,
        at.static_if_plain(),
        link=f"{error_texts.API}/jax.numpy.isin.html",
    )


def _inside_a_call(at: TracedTruth, call: ast.Call) -> Explanation | None:
    """Explain a function that needs the truth of something computed from its argument."""
    scene = at.scene
    behind = error_texts.DEPENDS_ON.search(scene.message)
    name = behind[1] if behind and behind[1].isidentifier() else None
    for part, value in scene.spot.parts(call):
        if scene.quote(part) == name and value is not MISSING:
            at.variable, at.tracer = scene.quote(part), value
            at.what = scene.what(at.variable, value)
            at.static = static_fix(scene, value)
    function = scene.quote(call.func)
    return at.said(
        "static_needed",
        f"`{function}` needs a known value, but `{at.variable}` is traced",
        f"`{function}` looks at this argument now, while JAX records the program, and its value comes later.",
        at.static,
        link=error_texts.STATIC_LINK,
    )
