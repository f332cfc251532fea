"""Explain choices by a traced value: `if` as a statement, in an expression, and in a comprehension."""

import ast
import re

from jaxguide.code.source import dotted, names_in
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.conditions import condition, decided_by_python, split_test
from jaxguide.explain.rewrites.control_flow import expression_of_if
from jaxguide.explain.rewrites.printing import debug_print
from jaxguide.explain.rewrites.run_time_checks import run_time_check
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.traced_truths import (
    TracedTruth,
    asked_for,
    asks_python,
    decision_around,
    filter_around,
    traced_truth,
)


@explains(error_texts.BOOL)
def choice_by_a_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `if` whose test is traced; calls such as `any(...)` in a test are explained in `boolean_functions`."""
    node = asked_for(scene)
    filters = filter_around(scene, node)
    if filters is not None:
        return _filtered(scene, filters)
    decision, at = decision_around(scene, node), traced_truth(scene)
    if at is None:
        return _chosen_element(scene, decision) if isinstance(decision, ast.IfExp) else None
    if asks_python(node) or (isinstance(node, ast.Call) and scene.library is not None):
        return None
    if isinstance(decision, ast.If):
        return _if_statement(at, decision)
    return _if_expression(at, decision) if isinstance(decision, ast.IfExp) else None


def _if_explained(at: TracedTruth, test: ast.expr, *fixes: Fix | None) -> Explanation | None:
    """Explain `if`, with the fix that makes an option static first if the test is a bare argument."""
    title = f"`if` needs a known value, but `{at.variable}` is traced"
    why = "Python's `if` must choose now, while JAX records the program, and the value comes later."
    if _is_switch(at, test):
        return at.said("if_on_tracer", title, why, at.static, *fixes)
    guard = decided_by_python(at.scene, test)
    if guard is not None:
        return at.said("if_on_tracer", title, why, split_test(at.scene, guard), at.static_if_plain())
    return at.said("if_on_tracer", title, why, *fixes, at.static_if_plain())


def _if_statement(at: TracedTruth, node: ast.If) -> Explanation | None:
    """Explain `if`: a switch that should be a Python value, or a choice that belongs in the program."""
    scene = at.scene
    if _is_recursive(at):
        return _recursion(at)
    if _only_prints(node):
        return _printing(at, node)
    if any(_returns_none(one) for one in [*node.body, *node.orelse, *_after(scene, node)]):
        words = "Return an array of the same shape in place of None: a compiled function always returns the same parts."
        return _if_explained(at, node.test, scene.advice(words))
    edits = expression_of_if(scene, node)
    where = scene.fix(_where_sentence(node.test, [*node.body, *node.orelse, *_after(scene, node)]), *edits.where)
    cond = scene.fix("With `lax.cond`, for one scalar choice: only one side runs.", *edits.cond)
    if where is None and isinstance(node.body[-1], ast.Break):
        where = scene.advice(
            "Let the program loop: `lax.while_loop`, which carries what the loop changes and goes on while "
            f"`{scene.quote(node.test)}` is false."
        )
    elif where is None and isinstance(node.body[-1], ast.Continue):
        where = scene.advice(
            f"Compute the turn all the same, and keep the old values with `jnp.where` where `{scene.quote(node.test)}`."
        )
    elif where is None and isinstance(node.body[0], ast.Raise):
        where = run_time_check(
            scene,
            at.tracer,
            (
                "Check at run time in place of `raise`; call the outermost function through `checkify`, and let "
                "`throw` raise."
            ),
            ast.UnaryOp(ast.Not(), node.test),
            _message(node.body[0]),
        )
    elif where is None and (once := _called_once(scene, node)) is not None:
        where = once
    elif where is None and not edits.cond:
        body = ast.unparse(node.body[0]).split("\n")[0]
        code = f"{scene.jnp}.where({condition(scene, node.test)}, value_if_true, value_if_false)"
        where = scene.fix(f"Compute both sides and choose with `jnp.where`, in place of `{body}`.", code=code)
    return _if_explained(at, node.test, where, cond)


def _if_expression(at: TracedTruth, node: ast.IfExp) -> Explanation | None:
    """Explain `a if test else b`."""
    scene = at.scene
    if _is_recursive(at):
        return _recursion(at)
    test, yes, no = condition(scene, node.test), scene.quote(node.body), scene.quote(node.orelse)
    where = scene.fix(
        _where_sentence(node.test, [node.body, node.orelse]),
        scene.source.replace(node, f"{scene.jnp}.where({test}, {yes}, {no})"),
    )
    cond = scene.fix(
        "With `lax.cond`, for one scalar choice: only one side runs.",
        scene.source.replace(node, f"{scene.lax}.cond({test}, lambda: {yes}, lambda: {no})"),
    )
    return _if_explained(at, node.test, where, cond)


def _returns_none(node: ast.stmt) -> bool:
    return isinstance(node, ast.Return) and (
        node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    )


def _is_recursive(at: TracedTruth) -> bool:
    """Return whether the function at this place calls itself."""
    function = at.scene.spot.function
    return isinstance(function, ast.FunctionDef) and any(
        isinstance(node, ast.Call) and dotted(node.func) in (function.name, f"self.{function.name}")
        for node in ast.walk(function)
    )


def _recursion(at: TracedTruth) -> Explanation | None:
    """Explain a test in a function that calls itself, which would not end if both sides were recorded."""
    return at.said(
        "if_on_tracer",
        f"`if` needs a known value, but `{at.variable}` is traced",
        "Python's `if` must choose now, while JAX records the program, and the value comes later.",
        at.static_if_plain(),
        at.scene.advice(
            "Write the recursion as a loop, such as `lax.fori_loop`: `jnp.where` and `lax.cond` record both "
            "sides, so a function that calls itself would never end."
        ),
    )


def _printing(at: TracedTruth, node: ast.If) -> Explanation | None:
    """Explain `if x > 0: print(...)`."""
    scene, lines = at.scene, ["None", "None"]
    for place, block in enumerate((node.body, node.orelse)):
        if block and (line := debug_print(scene, block[0].value)) is not None:  # type: ignore[attr-defined]
            lines[place] = line
    test = condition(scene, node.test)
    known = (lines[0] != "None") and (bool(node.orelse) == (lines[1] != "None"))
    text = f"{scene.lax}.cond({test}, lambda: {lines[0]}, lambda: {lines[1]})"
    sentence = "Print when the program runs, and let `lax.cond` choose: `jax.debug.print`."
    return at.said(
        "if_on_tracer",
        f"`if` needs a known value, but `{at.variable}` is traced",
        "Python's `if` must choose now, while JAX records the program, and the value comes later.",
        scene.fix(sentence, scene.source.replace(node, text)) if known else scene.advice(sentence),
        link=f"{error_texts.API}/jax.debug.print.html",
    )


def _is_switch(at: TracedTruth, test: ast.expr) -> bool:
    """Return whether a test is a bare argument, which usually is an option such as `train`."""
    plain = test.operand if isinstance(test, ast.UnaryOp) else test
    return isinstance(plain, ast.Name) and at.static is not None


def _where_sentence(test: ast.expr, sides: list[ast.stmt] | list[ast.expr]) -> str:
    """Say how to choose with `jnp.where`, and that a side that is not taken can still spoil the gradient."""
    names = names_in(test)
    for node in (inner for side in sides for inner in ast.walk(side)):
        divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and names & names_in(node.right)
        curved = isinstance(node, ast.Call) and called(node) in (
            "log",
            "sqrt",
            "arccos",
            "arcsin",
            "power",
            "reciprocal",
        )
        if divides or (curved and names & names_in(node)):
            return (
                "Choose with `jnp.where`. Both sides are computed: if the one that is not taken is infinite or NaN, so "
                "is the gradient, unless its input is made safe too."
            )
    return "Choose with `jnp.where`: both sides are computed, one is taken."


def _after(scene: Scene, node: ast.If) -> list[ast.stmt]:
    """Return the statement after an `if`, which is its other side if the first one returns."""
    block = scene.source.body_of(node)
    return block[block.index(node) + 1 :][:1] if node in block and not node.orelse else []


def _called_once(scene: Scene, node: ast.If) -> Fix | None:
    """Return the fix for two branches with the same call: the arguments that differ are chosen."""
    if len(node.body) != 1 or len(node.orelse) != 1:
        return None
    yes, no = node.body[0], node.orelse[0]
    if not isinstance(yes, ast.Expr) or not isinstance(no, ast.Expr):
        return None
    test = condition(scene, node.test)

    def joined(one: ast.expr, other: ast.expr) -> str | None:
        if ast.dump(one) == ast.dump(other):
            return scene.quote(one)
        if isinstance(one, ast.Call) and isinstance(other, ast.Call) and ast.dump(one.func) == ast.dump(other.func):
            names = [k.arg for k in one.keywords]
            if len(one.args) != len(other.args) or names != [k.arg for k in other.keywords] or None in names:
                return None
            parts = [joined(a, b) for a, b in zip(one.args, other.args, strict=True)]
            values = [joined(a.value, b.value) for a, b in zip(one.keywords, other.keywords, strict=True)]
            if None in parts or None in values:
                return None
            named = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
            return f"{scene.quote(one.func)}({', '.join([*map(str, parts), *named])})"
        if not (_is_number(scene, one) and _is_number(scene, other)):
            return None
        return f"{scene.jnp}.where({test}, {scene.quote(one)}, {scene.quote(other)})"

    text = joined(yes.value, no.value)
    if text is None:
        return None
    return scene.fix("Call it once, and choose with `jnp.where` what it is given.", scene.source.replace(node, text))


def _is_number(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression is arithmetic with numbers and arrays."""
    if isinstance(node, ast.BinOp):
        return _is_number(scene, node.left) and _is_number(scene, node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(scene, node.operand)
    value = scene.spot.value(node)
    return is_array(value) or type(value) in (int, float, complex)


def _only_prints(node: ast.If) -> bool:
    """Return whether each branch of an `if` is a single `print`."""
    blocks = [block for block in (node.body, node.orelse) if block]
    return all(len(b) == 1 and isinstance(b[0], ast.Expr) and called(b[0].value) == "print" for b in blocks)


def _message(node: ast.Raise) -> str:
    """Return the message of a raised error, as source text for `checkify.check`."""
    given = node.exc.args[0] if isinstance(node.exc, ast.Call) and node.exc.args else None
    text = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
    if text is None:
        text = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) if node.exc else "error"
    return text


def _chosen_element(scene: Scene, node: ast.IfExp) -> Explanation | None:
    """Explain `if` on an element of a comprehension, whose name no longer exists by the time the error is caught."""
    test, yes, no = condition(scene, node.test), scene.quote(node.body), scene.quote(node.orelse)
    names = sorted(n.id for n in ast.walk(node.test) if isinstance(n, ast.Name))
    return scene.explanation(
        "if_on_tracer",
        title="`if` needs a known value, but its test is traced",
        variable=names[0] if names else None,
        why="Python's `if` must choose now, while JAX records the program, and the value comes later.",
        fixes=[
            scene.fix(
                "Choose with `jnp.where`: both sides are computed, one is taken.",
                scene.source.replace(node, f"{scene.jnp}.where({test}, {yes}, {no})"),
            ),
            scene.fix(
                "With `lax.cond`, for one scalar choice: only one side runs.",
                scene.source.replace(node, f"{scene.lax}.cond({test}, lambda: {yes}, lambda: {no})"),
            ),
        ],
        link=error_texts.ERRORS_PAGE,
    )


def _filtered(scene: Scene, place: tuple[ast.comprehension, ast.expr]) -> Explanation | None:
    """Explain `[v for v in x if v > 0]`."""
    part, test = place
    items, name = scene.quote(part.iter), scene.quote(part.target)
    part_of = scene.spot.first(test, is_tracer)
    return scene.explanation(
        "filter_on_tracer",
        title="`if` in a comprehension needs known values, but its test is traced",
        what=scene.traced_what(scene.quote(part_of[0]), part_of[1]) if part_of is not None else "",
        variable=scene.quote(part_of[0]) if part_of is not None else name,
        why="How long the list is depends on the values, and these come later.",
        fixes=[
            scene.fix(
                "Work on the whole array, and keep the shape: 0 where the test fails, counted or summed after.",
                code=re.sub(rf"\b{re.escape(name)}\b", items, f"{scene.jnp}.where({scene.quote(test)}, {name}, 0)"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.where.html",
    )
