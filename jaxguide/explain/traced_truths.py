"""Find the traced value whose truth Python needs, and the `if`, `while`, `assert` or comprehension that asks for it."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import is_tracer
from jaxguide.explain import probes
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Probe
from jaxguide.explain.rewrites.conditions import REDUCERS, condition, decided_by_python
from jaxguide.explain.rewrites.static_arguments import argument_behind, static_fix

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
SPLIT = "Let Python decide `{guard}` first, in an `if` of its own, and record only the rest."
Decision = ast.If | ast.IfExp | ast.While | ast.Assert


def asked(facts: Facts) -> ast.AST:
    """Look at the expression whose truth is asked for; Python 3.12 reports the whole comprehension around it."""
    node = facts.scene.node
    choices = [one for one in ast.walk(node) if isinstance(one, ast.IfExp)] if isinstance(node, _COMPREHENSIONS) else []
    return choices[0].test if len(choices) == 1 and filtering(facts) is None else node


def filtering(facts: Facts) -> ast.comprehension | None:
    """Look at the clause of a comprehension whose only `if` asks, such as `for v in x if v > 0`."""
    node = facts.scene.node
    outer = facts.scene.source.around(node, _COMPREHENSIONS)
    parts = [one for one in ast.walk(outer) if isinstance(one, ast.comprehension)] if outer is not None else []
    tests = [(one, test) for one in parts for test in one.ifs]
    is_only = len(tests) == 1 and (node is outer or node in set(ast.walk(tests[0][1])))
    return tests[0][0] if is_only else None


def decision(facts: Facts) -> Decision | None:
    """Look at the statement or expression in whose test it is, if no function of a library asks."""
    inner: ast.AST | None = facts.node("asked")
    if (isinstance(inner, ast.Call) and facts.scene.library is not None) or asks_python(facts):
        return None
    while inner is not None:
        outer = facts.scene.source.parents.get(inner)
        if isinstance(outer, Decision) and outer.test is inner:
            return outer
        # A call or a comprehension in between consumes the value and returns another.
        reduces = isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name)
        reduces = reduces and outer.func.id in (*REDUCERS, "bool")  # type: ignore[union-attr]
        inner = outer if reduces or isinstance(outer, ast.BoolOp | ast.UnaryOp | ast.Compare) else None
    return None


def asks_python(facts: Facts) -> bool:
    """Ask whether one of Python's functions, such as `max`, asks for the truth."""
    node = facts.node("asked")
    is_plain = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and bool(node.args)
    return is_plain and node.func.id in ("max", "min", "any", "all", "sorted", "bool")


def is_decided_by(*kinds: type[Any]) -> Probe:
    """Ask whether it is in the test of such a statement or expression."""
    return lambda facts: facts.knows("decision") and isinstance(facts.node("decision"), kinds)


def as_condition(of: str) -> Probe:
    """Say a test as an array expression."""
    return lambda facts: condition(facts.scene, facts.node(of))


def guard(of: str) -> Probe:
    """Look at the first part of a test that only Python can decide, such as `mask is None`."""
    return lambda facts: decided_by_python(facts.scene, facts.node(of))


def static_test(facts: Facts) -> Fix | None:
    """Return the fix that makes static all arguments whose values are traced in the test."""
    traced = [value for _part, value in facts.scene.spot.parts(facts.node("asked")) if is_tracer(value)]
    return static_fix(facts.scene, *traced) if traced else None


def static_option(facts: Facts) -> Fix | None:
    """Return the same fix if the first of them may be an option, that is, a Python int or bool."""
    value = facts.value("x")
    if not is_tracer(value) or value.ndim or not argument_behind(facts.scene, value):
        return None
    plain = value.weak_type and jax.dtypes.issubdtype(value.dtype, np.integer)
    return static_test(facts) if plain or value.dtype == bool else None


# What the entries share about a truth value that Python needs.
TRUTH: dict[str, Any] = {
    "asked": asked,
    "decision": decision,
    "test": lambda facts: facts.node("decision").test,
    "x": probes.first(is_tracer, of="asked"),
}
