"""Explain an array of several truth values where Python needs one."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.logic import condition
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene


@explains(error_texts.AMBIGUOUS)
def several_truths(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `if x > 1:` with an array that is not traced."""
    node = scene.node
    part = scene.spot.first(node, is_array)
    if part is None:
        return None
    text = scene.quote(part[0])
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
                _("Combine elementwise, with parentheses: `&`, `|`, `~` are `and`, `or`, `not` for arrays."),
                scene.source.replace(inner, test),
            )
        ]
    else:
        fixes = [
            scene.fix(_("All of them?"), scene.source.replace(inner, f"{scene.jnp}.all({test})")),
            scene.fix(_("Any of them?"), scene.source.replace(inner, f"{scene.jnp}.any({test})")),
        ]
    return scene.explanation(
        "several_truth_values",
        title=_("More than one truth value"),
        what=scene.what(text, part[1]),
        variable=text,
        why=_("`{test}` has one answer for each entry, and Python asks for one in all.").format(
            test=scene.quote(inner)
        ),
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.all.html",
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
