"""Explain choices by a traced value: `if` as a statement, in an expression, and in a comprehension."""

import ast
import re
from typing import Any

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain import traced_truths as truths
from jaxguide.explain.catalogue import Code, Either, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Condition, Facts
from jaxguide.explain.rewrites.control_flow import Choose, by_cond, by_where, expression_of_if
from jaxguide.explain.rewrites.run_time_checks import run_time_check
from jaxguide.explain.scene import called

entry(
    "filter_on_tracer",
    texts.BOOL,
    clause=truths.filtering,
    x=probes.one_of(truths.TRUTH["x"], lambda facts: facts.node("clause").target),
    asked=lambda facts: facts.node("clause").ifs[0],
    items=lambda facts: facts.node("clause").iter,
    title="`if` in a comprehension needs known values, but its test is traced",
    why="How long the list is depends on the values, and these come later.",
    fixes=Code(
        "Work on the whole array, and keep the shape: 0 where the test fails, counted or summed after.",
        "{jnp}.where(mask, {items}, 0)",
    ),
)


def _is_recursive(facts: Facts) -> bool:
    """Ask whether the function calls itself: it would not end if both sides were recorded."""
    function = facts.scene.spot.function
    name = getattr(function, "name", None)
    calls = [dotted(one.func) for one in ast.walk(function) if isinstance(one, ast.Call)] if function else []
    return name in calls or f"self.{name}" in calls


def _is_switch(facts: Facts) -> bool:
    """Ask whether the test is a bare argument, which usually is an option such as `train`."""
    test: Any = facts.node("test")
    plain = test.operand if isinstance(test, ast.UnaryOp) else test
    return isinstance(plain, ast.Name) and truths.static_test(facts) is not None


def _first_name(facts: Facts) -> ast.AST | None:
    """Look at the first name in the test of an expression: an element of a comprehension has no value any more."""
    names = [one for one in ast.walk(facts.node("test")) if isinstance(one, ast.Name)]
    return names[0] if names and isinstance(facts.node("decision"), ast.IfExp) else None


def _has(kind: type[ast.stmt]) -> Condition:
    """Ask whether the first or the last statement of an `if` is such a one."""
    return lambda facts: any(isinstance(facts.node("decision").body[place], kind) for place in (0, -1))


def _chosen(facts: Facts, choose: Choose) -> Edit | None:
    """Return the edit that chooses between both sides of a statement or an expression."""
    node, scene = facts.node("decision"), facts.scene
    if isinstance(node, ast.If):
        return expression_of_if(scene, node, choose)
    text = choose(scene, facts["condition"], scene.quote(node.body), scene.quote(node.orelse))
    return scene.source.replace(node, text)


def _where(facts: Facts) -> Fix | None:
    edit = _chosen(facts, by_where)
    # A side that is not taken can still spoil the gradient.
    if edit is not None and re.search(r"/|\b(log|sqrt|arccos|arcsin|power|reciprocal)\(", edit.text):
        return facts.scene.fix(
            "Choose with `jnp.where`. Both sides are computed: if the one that is not taken is infinite or NaN, so "
            "is the gradient, unless its input is made safe too.",
            edit,
        )
    return facts.scene.fix("Choose with `jnp.where`: both sides are computed, one is taken.", edit)


def _cond(facts: Facts) -> Fix | None:
    edit = _chosen(facts, by_cond)
    return facts.scene.fix("With `lax.cond`, for one scalar choice: only one side runs.", edit)


def _checked(facts: Facts) -> Fix | None:
    """Return the code that checks at run time what `raise` forbids."""
    test = ast.UnaryOp(ast.Not(), facts.node("test"))
    return run_time_check(facts.scene, facts["x"].value, facts.node("decision").body[0], test)


_IF: dict[str, Any] = {
    **truths.TRUTH,
    "x": probes.one_of(truths.TRUTH["x"], _first_name),
    "guard": truths.guard("test"),
    "condition": truths.as_condition("test"),
    "title": "`if` needs a known value, but `{x}` is traced",
    "why": "Python's `if` must choose now, while JAX records the program, and the value comes later.",
}
_is_if = truths.is_decided_by(ast.If, ast.IfExp)
entry(
    "if_on_tracer",
    texts.BOOL,
    when=[_is_if, _is_recursive],
    fixes=[
        truths.static_option,
        "Write the recursion as a loop, such as `lax.fori_loop`: `jnp.where` and `lax.cond` record both sides, so a "
        "function that calls itself would never end.",
    ],
    **_IF,
)
entry(
    "if_on_tracer",
    texts.BOOL,
    when=[_is_if, probes.knows("guard"), probes.unless(_is_switch)],
    fixes=[truths.SPLIT, truths.static_option],
    **_IF,
)
entry(
    "if_on_tracer",
    texts.BOOL,
    when=_is_if,
    first=lambda facts: ast.unparse(facts.node("decision").body[0]).split("\n")[0],
    fixes=[
        Either(truths.static_test, when=_is_switch),
        Either(
            _where,
            Words(
                "Let the program loop: `lax.while_loop`, which carries what the loop changes and goes on while "
                "`{test}` is false.",
                when=_has(ast.Break),
            ),
            Either(_checked, when=lambda facts: isinstance(facts.node("decision").body[0], ast.Raise)),
            Code(
                "Print when the program runs, and let `lax.cond` choose: `jax.debug.print`.",
                "{lax}.cond({condition}, lambda: {jax}.debug.print(...), lambda: None)",
                when=lambda facts: called(getattr(facts.node("decision").body[0], "value", None)) == "print",
            ),
            Words("Call once, and choose with `jnp.where` what the call is given.", when=_has(ast.Expr)),
            Code(
                "Compute both sides and choose with `jnp.where`, in place of `{first}`.",
                "{jnp}.where({condition}, value_if_true, value_if_false)",
                when=lambda facts: _chosen(facts, by_cond) is None,
            ),
        ),
        _cond,
        Either(truths.static_option, when=probes.unless(_is_switch)),
    ],
    **_IF,
)
