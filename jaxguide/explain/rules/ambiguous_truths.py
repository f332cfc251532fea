"""Explain one truth value asked of a whole array, and arrays that are asked_for to see whether they were given."""

import ast
import re

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.conditions import condition
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.explain.traced_truths import asked_for
from jaxguide.explain.transformed import defaults_of


@explains(error_texts.BOOL)
def truth_of_an_optional_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `if mask:` for a traced array that may be None."""
    return _given_at_all(scene, asked_for(scene))


@explains(error_texts.AMBIGUOUS)
def several_truths(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `if x > 1:` with an array that is not traced."""
    node = scene.node
    part = scene.spot.first(node, is_array)
    if part is None:
        return None
    text = scene.quote(part[0])
    given = _given_at_all(scene, node)
    if given is not None:
        return given
    logic = _logic_around(scene, node)
    inner = logic if logic is not None else node
    if not isinstance(inner, ast.Compare | ast.Name | ast.BoolOp | ast.UnaryOp):
        return None
    test = condition(scene, inner)
    outer = scene.source.parents.get(inner)
    if logic is not None and not (
        isinstance(outer, ast.If | ast.IfExp | ast.While | ast.Assert) and outer.test is inner
    ):
        fixes = [
            scene.fix(
                "Combine elementwise, with parentheses: `&`, `|`, `~` are `and`, `or`, `not` for arrays.",
                scene.source.replace(inner, test),
            )
        ]
    else:
        fixes = [
            scene.fix("All of them?", scene.source.replace(inner, f"{scene.jnp}.all({test})")),
            scene.fix("Any of them?", scene.source.replace(inner, f"{scene.jnp}.any({test})")),
        ]
    return scene.explanation(
        "several_truth_values",
        title="More than one truth value",
        what=scene.what(text, part[1]),
        variable=text,
        why=f"`{scene.quote(inner)}` has one answer for each entry, and Python asks for one in all.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.all.html",
    )


def _given_at_all(scene: Scene, node: ast.AST) -> Explanation | None:
    """Explain `if mask:` and `mask = mask or default` for a parameter whose default is None: was it given at all?"""
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:  # only the first value's truth is asked for
        node = node.values[0]
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    plain = node.operand if isinstance(node, ast.UnaryOp) and negated else node
    function, value = scene.spot.function, scene.spot.value(plain)
    if not isinstance(plain, ast.Name) or function is None or not is_array(value):
        return None
    default = defaults_of(function).get(plain.id)
    if not isinstance(default, ast.Constant) or default.value is not None or _is_rebound(function, plain.id):
        return None
    if value.dtype == bool and value.ndim == 0:  # a flag, which may be False
        return None
    outer = scene.source.parents.get(node)
    if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
        node, negated, outer = outer, True, scene.source.parents.get(outer)
    name = plain.id
    test = f"{name} is None" if negated else f"{name} is not None"
    edit = None
    if isinstance(outer, ast.If | ast.IfExp | ast.While | ast.Assert) and outer.test is node:
        edit = scene.source.replace(node, test)
    elif isinstance(outer, ast.BoolOp) and outer.values[0] is node and not negated:
        rest = outer.values[1:]
        if isinstance(outer.op, ast.Or) and len(rest) == 1:
            edit = scene.source.replace(outer, f"{name} if {test} else {scene.quote(rest[0])}")
        elif isinstance(outer.op, ast.And):
            edit = scene.source.replace(node, test)
    return scene.explanation(
        "array_given_or_none",
        title="An array's truth value does not say whether it was given",
        what=scene.what(name, scene.spot.value(plain)),
        variable=name,
        why=f"`{name}` is None if it is not given. Python asks an array for its entries, not whether it is there.",
        fixes=[scene.fix("Compare with None.", edit) or scene.advice(f"Compare with None: `{test}`.")],
        link=error_texts.ERRORS_PAGE,
    )


def _is_rebound(function: ast.AST, name: str) -> bool:
    """Return whether a function assigns to a name in another way than `name = name or default`."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        and not (isinstance(node.value, ast.BoolOp) and names_in(node.value.values[0]) == {name})
        for node in ast.walk(function)
    )


def _logic_around(scene: Scene, node: ast.AST) -> ast.expr | None:
    """Return the outermost `and`, `or`, `not` or `0 < x < 1` that a node is part of."""
    found: ast.expr | None = None
    here: ast.AST | None = node
    while isinstance(here, ast.BoolOp | ast.Compare | ast.Name) or (
        isinstance(here, ast.UnaryOp) and isinstance(here.op, ast.Not)
    ):
        if not isinstance(here, ast.Name) and (not isinstance(here, ast.Compare) or len(here.ops) > 1):
            found = here
        here = scene.source.parents.get(here)
    return found
