"""Explain choices by a traced value: `if` as a statement, in an expression, and in a comprehension."""

import ast
import re
from typing import Any

from jaxguide.code.source import dotted, names_in
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Condition, Facts
from jaxguide.explain.rewrites.control_flow import Choice, expression_of_if
from jaxguide.explain.rewrites.printing import debug_print
from jaxguide.explain.rewrites.run_time_checks import run_time_check
from jaxguide.explain.scene import called
from jaxguide.explain.traced_truths import (
    CHOICE,
    TRUTH,
    as_condition,
    filtering,
    guard,
    is_decided_by,
    static_option,
    static_test,
)

# Functions that are infinite or NaN somewhere.
_CURVED = ("log", "sqrt", "arccos", "arcsin", "power", "reciprocal")


def _mapped(facts: Facts) -> str:
    """Say the same choice for the whole array that the comprehension goes through."""
    clause: Any = facts.node("clause")
    name, items, test = (facts.scene.quote(one) for one in (clause.target, clause.iter, clause.ifs[0]))
    return re.sub(rf"\b{re.escape(name)}\b", items, f"{facts['jnp']}.where({test}, {name}, 0)")


entry(
    "filter_on_tracer",
    texts.BOOL,
    clause=filtering,
    x=probes.one_of(TRUTH["x"], lambda facts: facts.node("clause").target),
    asked=lambda facts: facts.node("clause").ifs[0],
    mapped=_mapped,
    title="`if` in a comprehension needs known values, but its test is traced",
    why="How long the list is depends on the values, and these come later.",
    fixes=[
        Code(
            "Work on the whole array, and keep the shape: 0 where the test fails, counted or summed after.", "{mapped}"
        )
    ],
    link=f"{texts.API}/jax.numpy.where.html",
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
    return isinstance(plain, ast.Name) and static_test(facts) is not None


def _sides(facts: Facts) -> list[ast.AST]:
    """Return what is chosen from; the statement after an `if` is its other side if the first one returns."""
    node: Any = facts.node("decision")
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    block = facts.scene.source.body_of(node)
    after = block[block.index(node) + 1 :][:1] if node in block and not node.orelse else []
    return [*node.body, *node.orelse, *after]


def _begins(kind: type[ast.stmt]) -> Condition:
    """Ask whether the first or the last statement of an `if` is such a one."""
    return lambda facts: (
        isinstance(facts.node("decision"), ast.If)
        and any(isinstance(facts.node("decision").body[place], kind) for place in (0, -1))
    )


def _returns_none(facts: Facts) -> bool:
    returns = [one for one in _sides(facts) if isinstance(one, ast.Return)]
    return any(one.value is None or ast.unparse(one.value) == "None" for one in returns)


def _where_sentence(facts: Facts) -> str:
    """Say how to choose with `jnp.where`, and that a side that is not taken can still spoil the gradient."""
    names = names_in(facts.node("test"))
    for node in (inner for side in _sides(facts) for inner in ast.walk(side)):
        divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and names & names_in(node.right)
        if divides or (called(node) in _CURVED and names & names_in(node)):
            return (
                "Choose with `jnp.where`. Both sides are computed: if the one that is not taken is infinite or NaN, so "
                "is the gradient, unless its input is made safe too."
            )
    return "Choose with `jnp.where`: both sides are computed, one is taken."


def _edits(facts: Facts) -> Choice:
    """Return the edits for a choice, in a statement or in an expression."""
    node, scene = facts.node("decision"), facts.scene
    if isinstance(node, ast.If):
        return expression_of_if(scene, node)
    return Choice(
        [scene.source.replace(node, facts.say("{jnp}.where({condition}, {yes}, {no})"))],
        [scene.source.replace(node, facts.say("{lax}.cond({condition}, lambda: {yes}, lambda: {no})"))],
    )


def _where(facts: Facts) -> Fix | None:
    return facts.scene.fix(_where_sentence(facts), *_edits(facts).where)


def _cond(facts: Facts) -> Fix | None:
    if _returns_none(facts):
        return None
    return facts.scene.fix("With `lax.cond`, for one scalar choice: only one side runs.", *_edits(facts).cond)


def _checked(facts: Facts) -> Fix | None:
    """Return the code that checks at run time what `raise` forbids."""
    node = facts.node("decision").body[0].exc
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    message = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""
    message = message or ast.unparse(node.func if isinstance(node, ast.Call) else node)
    test = ast.UnaryOp(ast.Not(), facts.node("test"))
    return run_time_check(facts.scene, facts["x"].value, "`raise`", test, message)


def _printed(block: str) -> Any:
    """Say the line that prints at run time what one side of an `if` prints; 'None' if there is no such side."""

    def found(facts: Facts) -> str | None:
        lines = getattr(facts.node("decision"), block)
        if isinstance(facts.node("decision"), ast.IfExp) or len(lines) > 1:
            return None
        return debug_print(facts.scene, getattr(lines[0], "value", None)) if lines else "None"

    return found


_IF: dict[str, Any] = {
    **CHOICE,
    "guard": guard("test"),
    "condition": as_condition("test"),
    "yes": lambda facts: facts.node("decision").body,
    "no": lambda facts: facts.node("decision").orelse,
    "title": "`if` needs a known value, but `{x}` is traced",
    "why": "Python's `if` must choose now, while JAX records the program, and the value comes later.",
    "link": texts.ERRORS_PAGE,
}
_is_if = is_decided_by(ast.If, ast.IfExp)
entry(
    "if_on_tracer",
    texts.BOOL,
    when=[_is_if, _is_recursive],
    fixes=[
        static_option,
        "Write the recursion as a loop, such as `lax.fori_loop`: `jnp.where` and `lax.cond` record both sides, so a "
        "function that calls itself would never end.",
    ],
    **_IF,
)
entry(
    "if_on_tracer",
    texts.BOOL,
    when=is_decided_by(ast.If),
    fixes=[
        Swap(
            "Print when the program runs, and let `lax.cond` choose: `jax.debug.print`.",
            decision="{lax}.cond({condition}, lambda: {yes}, lambda: {no})",
        )
    ],
    **_IF | {"yes": _printed("body"), "no": _printed("orelse"), "link": f"{texts.API}/jax.debug.print.html"},
)
entry(
    "if_on_tracer",
    texts.BOOL,
    when=[_is_if, probes.knows("guard"), probes.unless(_is_switch)],
    fixes=["Let Python decide `{guard}` first, in an `if` of its own, and record only the rest.", static_option],
    **_IF,
)
entry(
    "if_on_tracer",
    texts.BOOL,
    when=_is_if,
    first=lambda facts: ast.unparse(facts.node("decision").body[0]).split("\n")[0],
    fixes=[
        Either(static_test, when=_is_switch),
        Either(
            Words(
                "Return an array of the same shape in place of None: a compiled function always returns the same "
                "parts.",
                when=_returns_none,
            ),
            _where,
            Words(
                "Let the program loop: `lax.while_loop`, which carries what the loop changes and goes on while "
                "`{test}` is false.",
                when=_begins(ast.Break),
            ),
            Words(
                "Compute the turn all the same, and keep the old values with `jnp.where` where `{test}`.",
                when=_begins(ast.Continue),
            ),
            Either(_checked, when=_begins(ast.Raise)),
            Words("Call once, and choose with `jnp.where` what the call is given.", when=_begins(ast.Expr)),
            Code(
                "Compute both sides and choose with `jnp.where`, in place of `{first}`.",
                "{jnp}.where({condition}, value_if_true, value_if_false)",
                when=lambda facts: not _edits(facts).cond,
            ),
        ),
        _cond,
        Either(static_option, when=probes.unless(_is_switch)),
    ],
    **_IF,
)
