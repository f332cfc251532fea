"""Hold one traced value where Python wanted a truth value, and what can be said of it."""

import ast
from typing import Any

from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.logic import REDUCERS
from jaxguide.explain.rewrites.static_arguments import argument_behind, static_fix
from jaxguide.explain.scene import Scene


class Place:
    """One traced value where Python wanted a truth value, and what can be said of it."""

    def __init__(self, scene: Scene, node: ast.AST, variable: str, tracer: Any):
        self.scene, self.variable, self.tracer = scene, variable, tracer
        self.what = scene.traced_what(variable, tracer)
        self.static = static_fix(scene, *(value for _part, value in scene.spot.parts(node) if is_tracer(value)))

    def said(
        self, kind: str, title: str, why: str, *fixes: Fix | None, link: str = error_texts.ERRORS_PAGE
    ) -> Explanation | None:
        """Return the explanation with the facts of this place."""
        return self.scene.explanation(
            kind, title=title, why=why, what=self.what, variable=self.variable, fixes=fixes, link=link
        )

    def static_if_plain(self) -> Fix | None:
        """Offer to make an argument static where it may well be an option: a Python number was passed."""
        plain = getattr(self.tracer, "weak_type", False) or self.tracer.dtype == bool
        integer = self.tracer.dtype.kind in "iub" and self.tracer.ndim == 0
        return self.static if plain and integer and argument_behind(self.scene, self.tracer) else None


def test_around(scene: Scene, node: ast.AST) -> ast.If | ast.IfExp | ast.While | ast.Assert | None:
    """Return the statement or expression whose test a node is part of."""
    inner: ast.AST | None = node
    while inner is not None:
        outer = scene.source.parents.get(inner)
        if isinstance(outer, ast.If | ast.IfExp | ast.While | ast.Assert) and outer.test is inner:
            return outer
        # A call or a comprehension between the two takes the value for itself, and hands on another.
        wraps = isinstance(outer, ast.BoolOp | ast.UnaryOp | ast.Compare) or (
            isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id in (*REDUCERS, "bool")
        )
        if not wraps:
            return None
        inner = outer
    return None
