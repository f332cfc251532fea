"""Explain arrays where Python needs True or False: `if`, `while`, `assert`, `and`, `not`, `in`, `max` and others."""

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain import traced_truths as truths
from jaxguide.explain.catalogue import Code, Either, Static, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.conditions import condition
from jaxguide.explain.rewrites.control_flow import COND, WHERE, expression_of_if, filled, loop_of_while
from jaxguide.explain.transformed import defaults_of

_COMBINE = "Combine elementwise, with parentheses: `&`, `|`, `~` are `and`, `or`, `not` for arrays."


# Arrays that are asked for their truth to see whether they were given, and several truth values at once.


def _optional(facts: Facts) -> ast.Name | None:
    """Look at the parameter with default None whose truth is asked for, if it is an array and no flag."""
    node: ast.AST = facts.node("asked")
    node = node.values[0] if isinstance(node, ast.BoolOp) and len(node.values) == 2 else node
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    function, value = facts.scene.spot.function, facts.scene.spot.value(node)
    if not isinstance(node, ast.Name) or function is None or not is_array(value):
        return None
    default, is_flag = defaults_of(function).get(node.id), value.dtype == bool and value.ndim == 0
    made = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and not isinstance(one.value, ast.BoolOp)]
    is_rebound = any(facts.scene.quote(target) == node.id for one in made for target in one.targets)
    return node if getattr(default, "value", 0) is None and not is_flag and not is_rebound else None


entry(
    "array_given_or_none",
    texts.BOOL,
    texts.AMBIGUOUS,
    **truths.TRUTH | {"x": _optional},
    outer=lambda facts: facts.scene.source.parents.get(facts.node("x")),
    other=lambda facts: facts.node("outer").values[1] if getattr(facts.node("outer"), "values", 0) else None,
    title="An array's truth value does not say whether it was given",
    why="Python asks for the truth value of `{x}`, which depends on its entries; only None says that it was not given.",
    fixes=Either(
        Swap(
            "Compare with None.",
            when=lambda facts: isinstance(getattr(facts.node("outer"), "op", None), ast.Or),
            outer="{x} if {x} is not None else {other}",
        ),
        Swap("Compare with None.", when=probes.is_written("outer", ast.UnaryOp), outer="{x} is None"),
        Swap("Compare with None.", x="{x} is not None"),
    ),
    link=texts.ERRORS_PAGE,
)


def _logic(facts: Facts) -> ast.expr | None:
    """Look at the outermost `and`, `or`, `not` or `0 < x < 1` that asks."""
    found, here = None, facts.node("asked")
    while here is facts.node("asked") or isinstance(here, ast.BoolOp | ast.Compare | ast.UnaryOp):
        is_chain = isinstance(here, ast.Compare) and len(here.ops) > 1
        found = here if is_chain or isinstance(here, ast.BoolOp | ast.UnaryOp) else found
        here = facts.scene.source.parents.get(here)
    return found if not isinstance(facts.node("asked"), ast.Call) else None


entry(
    "several_truth_values",
    texts.AMBIGUOUS,
    asked=probes.node,
    x=probes.first(is_array),
    logic=_logic,
    place=probes.one_of(_logic, probes.node),
    outer=lambda facts: facts.scene.source.parents.get(facts.node("place")),
    condition=truths.as_condition("place"),
    when=probes.is_written("place", ast.Compare, ast.Name, ast.BoolOp, ast.UnaryOp),
    title="More than one truth value",
    why="`{place}` has one answer for each entry, and Python asks for one in all.",
    fixes=Swap(_COMBINE, when=lambda facts: not hasattr(facts.node("outer"), "test"), logic="{condition}"),
    otherwise=[
        Swap("All of them?", place="{jnp}.all({condition})"),
        Swap("Any of them?", place="{jnp}.any({condition})"),
    ],
    link=f"{texts.API}/jax.numpy.all.html",
)


# Functions of Python.


def _asks(*names: str) -> Any:
    """Return the conditions for one of Python's functions to ask."""
    return [truths.asks_python, probes.calls(*names), lambda facts: truths.filtering(facts) is None]


_function: Callable[..., None] = partial(
    entry,
    **truths.TRUTH,
    value=probes.argument(0),
    title="Python's `{f}` needs known values, but `{x}` is traced",
)
_function(
    "min_max_on_tracer",
    texts.BOOL,
    when=_asks("max", "min"),
    why="Python's `{f}` compares now and keeps one, while JAX records the program, and the values come later.",
    fixes=[
        "Use JAX's own, which goes into the program: `{jnp}.{f.name}imum` of two, `{jnp}.{f.name}` of one array.",
        truths.static_option,
    ],
)
_function(
    "any_all_on_tracer",
    texts.BOOL,
    when=_asks("any", "all"),
    why="Python's `{f}` looks at one value after the other now, while JAX records the program.",
    fixes="Use `{jnp}.{f.name}`, and choose with `{jnp}.where`: both go into the program.",
)
_function(
    "sorted_on_tracer",
    texts.BOOL,
    when=_asks("sorted"),
    why="Python's `{f}` compares values now to order them, while JAX records the program.",
    fixes="Sort the entries of one array with `{jnp}.sort`, which goes into the program; order several by a key with "
    "`{jnp}.argsort`, which gives their places: `values[{jnp}.argsort(keys)]`.",
)
_function(
    "bool_of_tracer",
    texts.BOOL,
    when=_asks("bool"),
    title="`bool(...)` needs a known value, but `{x}` is traced",
    why="`bool` makes a Python True or False now, while JAX records the program, and the value comes later.",
    fixes=[
        Swap(
            "Keep it an array: of dtype bool, it serves as a condition of `jnp.where` and `lax.cond`.",
            call="{value.atom}.astype(bool)",
        ),
        truths.static_option,
    ],
)


# `while` and `assert`.

_LOOP = "Let the program loop: `lax.while_loop` (forward mode only: `jax.grad` cannot go back through it)."
entry(
    "while_on_tracer",
    texts.BOOL,
    when=truths.is_decided_by(ast.While),
    title="`while` needs a known value, but `{x}` is traced",
    why="Python's `while` asks before every turn, while JAX records the program, and no value is there yet.",
    fixes=[
        Either(
            lambda facts: facts.scene.fix(_LOOP, loop_of_while(facts.scene, facts.node("decision"))),
            Code(_LOOP, "{lax}.while_loop(condition, body, start)"),
        ),
        truths.static_option,
    ],
    **truths.TRUTH,
)


def _holds(facts: Facts) -> str:
    """Say what must hold: the test of an `assert`, or the opposite of that of an `if` that raises."""
    test = facts.node("test")
    if isinstance(facts.node("decision"), ast.If):
        test = test.operand if isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), test)
    return condition(facts.scene, test)


_CHECK = Code(
    "Check at run time with `checkify`: put `checkify.check` in place of this test, wrap the outermost function in "
    "`checkify.checkify` where you call it, and let `error.throw()` raise.",
    "checkify.check({holds}, 'message')\nerror, result = {jax}.jit(checkify.checkify(outermost))(...)\nerror.throw()",
)
entry(
    "assert_on_tracer",
    texts.BOOL,
    when=truths.is_decided_by(ast.Assert),
    holds=_holds,
    title="`assert` needs a known value, but `{x}` is traced",
    why="`assert` looks at the value now, while JAX records the program, and the value comes later.",
    fixes=_CHECK,
    **truths.TRUTH,
)


# `in`, `and`, `or`, `not` and `0 < x < 1`.

_is_value = probes.unless(probes.knows("decision"))
entry(
    "in_on_tracer",
    texts.BOOL,
    when=[
        _is_value,
        probes.is_written("asked", ast.Compare),
        lambda facts: isinstance(facts.node("asked").ops[0], ast.In | ast.NotIn),
    ],
    condition=truths.as_condition("asked"),
    title="`in` needs known values, but `{x}` is traced",
    why="Python's `in` compares now until one is equal, while JAX records the program, and no value is there yet.",
    fixes=[Swap("Compare with all of them at once.", asked="{condition}"), truths.static_option],
    **truths.TRUTH,
)


def _number(facts: Facts) -> ast.expr | None:
    """Look at the number `scale` in `scale or 1.0`, whose value is one of both and not a truth value."""
    first = getattr(facts.node("logic"), "values", [None])[0]
    value = facts.scene.spot.value(first)
    return first if is_array(value) and value.dtype != bool else None


def _is_handed_on(facts: Facts) -> bool:
    """Ask whether it is given to a function, not of JAX, that may itself need it to be known."""
    outer = facts.scene.source.around(facts.node("logic"), (ast.Call, ast.stmt))
    home = getattr(facts.scene.spot.value(getattr(outer, "func", None)), "__module__", None) or "jax"
    return home.split(".")[0] not in ("jax", "jaxlib", "numpy", "builtins")


for _kind, _node, _word in (
    ("and_or_on_tracer", ast.BoolOp, "{join}"),
    ("not_on_tracer", ast.UnaryOp, "not"),
    ("chained_comparison_on_tracer", ast.Compare, "and"),
):
    entry(
        _kind,
        texts.BOOL,
        logic=_logic,
        when=[_is_value, probes.is_written("logic", _node)],
        join=lambda facts: type(facts.node("logic").op).__name__.lower(),
        guard=truths.guard("logic"),
        number=_number,
        condition=truths.as_condition("logic"),
        functions=lambda facts: condition(facts.scene, facts.node("logic"), with_functions=True),
        title=f"`{'{logic}' if _node is ast.Compare else _word}` needs a known value, but `{{x}}` is traced",
        why=f"Python's `{_word}` decides now what is true, while JAX records the program; it cannot be recorded.",
        fixes=[truths.SPLIT, Either(truths.static_test, when=_is_handed_on)],
        otherwise=[
            f"If the number `{{number}}` is meant: `{_word}` gives one of its two values, and `jnp.where` chooses it.",
            Swap(_COMBINE, when=lambda facts: facts["condition"] != facts["functions"], logic="{condition}"),
            Swap(
                "With functions, which take numbers for truth values too.",
                when=probes.unless(probes.knows("number")),
                logic="{functions}",
            ),
            truths.static_option,
        ],
        **truths.TRUTH,
    )


# Calls of other functions.


entry(
    "static_needed",
    texts.BOOL,
    when=[_is_value, probes.is_written("asked", ast.Call), probes.unless(truths.asks_python)],
    behind=probes.said(texts.DEPENDS_ON),
    parts=lambda facts: [part for part, _value in facts.scene.spot.parts(facts.node("asked"))],
    depended_on=lambda facts: next((x for x in facts["parts"] if facts.scene.quote(x) == facts["behind"][1]), None),
    title="`{f}` needs a known value, but `{x}` is traced",
    why="`{f}` looks at this argument now, while JAX records the program, and its value comes later.",
    fixes=Static("x"),
    **truths.TRUTH | {"x": probes.one_of(probes.fact("depended_on"), truths.TRUTH["x"])},
)

# Choices: `if` as a statement, in an expression, and in a comprehension.
entry(
    "filter_on_tracer",
    texts.BOOL,
    clause=truths.filtering,
    x=probes.one_of(truths.TRUTH["x"], lambda facts: facts.node("clause").target),
    asked=lambda facts: facts.node("clause").ifs[0],
    items=lambda facts: facts.node("clause").iter,
    title="`if` in a comprehension needs known values, but its test is traced",
    why="How long the list is depends on the values, and these come later.",
    fixes="Work on the whole array, and keep the shape: `{jnp}.where(mask, {items}, 0)` is 0 where the test fails.",
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


def _chosen(facts: Facts, template: str) -> Edit | None:
    """Return the edit that chooses between both sides of a statement or an expression."""
    node, scene = facts.node("decision"), facts.scene
    if isinstance(node, ast.If):
        return expression_of_if(scene, node, template)
    text = filled(scene, template, facts["condition"], scene.quote(node.body), scene.quote(node.orelse))
    return scene.source.replace(node, text)


def _where(facts: Facts) -> Fix | None:
    edit, said = _chosen(facts, WHERE), "Choose with `jnp.where`: both sides are computed, one is taken."
    if edit is not None and re.search(r"/|\b(log|sqrt|arccos|arcsin|power|reciprocal)\(", edit.text):
        said = (
            "Choose with `jnp.where`. Both sides are computed: if the one that is not taken is infinite or NaN, so is "
            "the gradient, unless its input is made safe too."
        )
    return facts.scene.fix(said, edit)


def _cond(facts: Facts) -> Fix | None:
    return facts.scene.fix("With `lax.cond`, for one scalar choice: only one side runs.", _chosen(facts, COND))


_is_if = truths.is_decided_by(ast.If, ast.IfExp)
_if = partial(
    entry,
    "if_on_tracer",
    texts.BOOL,
    **truths.TRUTH | {"x": probes.one_of(truths.TRUTH["x"], probes.fact("element"))},
    # An element of a comprehension has no value any more.
    names=lambda facts: [one for one in ast.walk(facts.node("test")) if isinstance(one, ast.Name)],
    element=lambda facts: facts["names"][0] if isinstance(facts.node("decision"), ast.IfExp) else None,
    guard=truths.guard("test"),
    condition=truths.as_condition("test"),
    title="`if` needs a known value, but `{x}` is traced",
    why="Python's `if` must choose now, while JAX records the program, and the value comes later.",
)
_if(
    when=[_is_if, _is_recursive],
    fixes=[
        truths.static_option,
        "Write the recursion as a loop, such as `lax.fori_loop`: `jnp.where` and `lax.cond` record both sides, so a "
        "function that calls itself would never end.",
    ],
)
_if(when=[_is_if, probes.knows("guard"), probes.unless(_is_switch)], fixes=[truths.SPLIT, truths.static_option])
_if(
    when=_is_if,
    first=lambda facts: facts.node("decision").body[0],
    last=lambda facts: facts.node("decision").body[-1],
    text=lambda facts: ast.unparse(facts.node("first")).split("\n")[0],
    holds=_holds,
    fixes=[
        Either(truths.static_test, when=_is_switch),
        Either(
            _where,
            Words(
                "Let the program loop: `lax.while_loop`, which carries what the loop changes and goes on while "
                "`{test}` is false.",
                when=probes.is_written("last", ast.Break),
            ),
            Either(_CHECK, when=probes.is_written("first", ast.Raise)),
            Words(
                "Call once, and choose with `jnp.where` what the call is given; to print, call `{jax}.debug.print` "
                "inside `lax.cond`.",
                when=probes.is_written("last", ast.Expr),
            ),
            Code(
                "Compute both sides and choose with `jnp.where`, in place of `{text}`.",
                "{jnp}.where({condition}, value_if_true, value_if_false)",
                when=lambda facts: _chosen(facts, COND) is None,
            ),
        ),
        _cond,
        Either(truths.static_option, when=probes.unless(_is_switch)),
    ],
)
