"""Find the traced value whose truth Python needs, and the `if`, `while`, `assert` or comprehension that asks for it."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.conditions import REDUCERS
from jaxguide.explain.rewrites.static_arguments import argument_behind, static_fix
from jaxguide.explain.scene import Scene

# Functions of Python that ask for truth values; `boolean_functions` explains them.
ASKING_FUNCTIONS = ("max", "min", "any", "all", "sorted", "bool")


class TracedTruth:
    """A traced value whose truth Python needs, and what all explanations of it share.

    Args:
        scene: the error.
        node: the expression whose truth is asked for.
        variable: the student's text of the first traced value in it.
        tracer: that value.
    """

    def __init__(self, scene: Scene, node: ast.AST, variable: str, tracer: Any):
        self.scene, self.variable, self.tracer = scene, variable, tracer
        self.what = scene.traced_what(variable, tracer)
        self.static = static_fix(scene, *(value for _part, value in scene.spot.parts(node) if is_tracer(value)))

    def said(
        self, kind: str, title: str, why: str, *fixes: Fix | None, link: str = error_texts.ERRORS_PAGE
    ) -> Explanation | None:
        """Return an explanation with the facts of this value."""
        return self.scene.explanation(
            kind, title=title, why=why, what=self.what, variable=self.variable, fixes=fixes, link=link
        )

    def static_if_plain(self) -> Fix | None:
        """Return the fix that makes an argument static if it may be an option, that is, a Python int or bool."""
        plain = getattr(self.tracer, "weak_type", False) or self.tracer.dtype == bool
        kinds = (np.integer, np.bool_)
        integer = any(jax.dtypes.issubdtype(self.tracer.dtype, kind) for kind in kinds) and self.tracer.ndim == 0
        return self.static if plain and integer and argument_behind(self.scene, self.tracer) else None


def traced_truth(scene: Scene) -> TracedTruth | None:
    """Return the traced value whose truth is asked for; None if it is not known, as in a comprehension."""
    node = asked_for(scene)
    traced = scene.tracer(node)
    return TracedTruth(scene, node, scene.quote(traced[0]), traced[1]) if traced is not None else None


def asked_for(scene: Scene) -> ast.AST:
    """Return the expression whose truth is asked for."""
    node = scene.node
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):  # Python 3.12 reports the whole comprehension
        choices = [part for part in ast.walk(node) if isinstance(part, ast.IfExp)]
        return choices[0].test if len(choices) == 1 and filter_around(scene, node) is None else node
    return node


def filter_around(scene: Scene, node: ast.AST) -> tuple[ast.comprehension, ast.expr] | None:
    """Return a comprehension's clause and its only `if`, given a node in that `if` or the whole comprehension."""
    outer: ast.AST | None = scene.source.around(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp))
    parts = [part for part in ast.walk(outer) if isinstance(part, ast.comprehension)] if outer is not None else []
    tests = [(part, test) for part in parts for test in part.ifs]
    if len(tests) != 1 or (node is not outer and node not in set(ast.walk(tests[0][1]))):
        return None
    return tests[0]


def decision_around(scene: Scene, node: ast.AST) -> ast.If | ast.IfExp | ast.While | ast.Assert | None:
    """Return the statement or expression whose test a node is part of."""
    inner: ast.AST | None = node
    while inner is not None:
        outer = scene.source.parents.get(inner)
        if isinstance(outer, ast.If | ast.IfExp | ast.While | ast.Assert) and outer.test is inner:
            return outer
        # A call or a comprehension in between consumes the value and returns another.
        wraps = isinstance(outer, ast.BoolOp | ast.UnaryOp | ast.Compare) or (
            isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id in (*REDUCERS, "bool")
        )
        if not wraps:
            return None
        inner = outer
    return None


def asks_python(node: ast.AST) -> bool:
    """Return whether a node calls one of Python's functions that ask for truth values, such as `max`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and bool(node.args)
        and node.func.id in ASKING_FUNCTIONS
    )
