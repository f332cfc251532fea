"""Explain tests in comprehensions, whose names are gone by the time the error arrives."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.logic import condition
from jaxguide.explain.scene import Scene


def filter_around(scene: Scene, node: ast.AST) -> tuple[ast.comprehension, ast.expr] | None:
    """Return the comprehension whose `if` a node is, or, as Python 3.12 places it, whose whole the node is."""
    outer: ast.AST | None = scene.source.around(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp))
    parts = [part for part in ast.walk(outer) if isinstance(part, ast.comprehension)] if outer is not None else []
    tests = [(part, test) for part in parts for test in part.ifs]
    if len(tests) != 1 or (node is not outer and node not in set(ast.walk(tests[0][1]))):
        return None
    return tests[0]


def chosen_element(scene: Scene, node: ast.IfExp) -> Explanation | None:
    """Explain `if` on an element of a comprehension, whose name is gone by the time the error arrives."""
    test, yes, no = condition(scene, node.test), scene.quote(node.body), scene.quote(node.orelse)
    names = sorted(n.id for n in ast.walk(node.test) if isinstance(n, ast.Name))
    return scene.explanation(
        "if_on_tracer",
        title=_("`if` needs a value that is still traced"),
        variable=names[0] if names else None,
        why=_("Python's `if` must choose now, while JAX records the program, and the value comes later."),
        fixes=[
            scene.fix(
                _("Choose with `jnp.where`: both sides are computed, one is taken."),
                scene.source.replace(node, f"{scene.jnp}.where({test}, {yes}, {no})"),
            ),
            scene.fix(
                _("With `lax.cond`, for one scalar choice: only one side runs."),
                scene.source.replace(node, f"{scene.lax}.cond({test}, lambda: {yes}, lambda: {no})"),
            ),
        ],
        link=error_texts.ERRORS_PAGE,
    )


def filtered(scene: Scene, place: tuple[ast.comprehension, ast.expr]) -> Explanation | None:
    """Explain `[v for v in x if v > 0]`."""
    part, test = place
    items, name = scene.quote(part.iter), scene.quote(part.target)
    part_of = scene.spot.first(test, is_tracer)
    return scene.explanation(
        "filter_on_tracer",
        title=_("`if` in a comprehension needs a value that is still traced"),
        what=scene.traced_what(scene.quote(part_of[0]), part_of[1]) if part_of is not None else "",
        variable=scene.quote(part_of[0]) if part_of is not None else name,
        why=_("How long the list is depends on the values, and these come later."),
        fixes=[
            scene.fix(
                _("Work on the whole array, and keep the shape: 0 where the test fails, counted or summed after."),
                code=re.sub(rf"\b{re.escape(name)}\b", items, f"{scene.jnp}.where({scene.quote(test)}, {name}, 0)"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.where.html",
    )
