"""Explain arrays where Python needs True or False: `while`, `assert`, `and`, `not`, `in`, `max`, and other calls."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Static, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.conditions import as_array, condition, is_comparison, leaves
from jaxguide.explain.rewrites.control_flow import by_where, expression_of_if, loop_of_while
from jaxguide.explain.rewrites.run_time_checks import run_time_check
from jaxguide.explain.rewrites.static_arguments import SIZED_FUNCTIONS
from jaxguide.explain.scene import called
from jaxguide.explain.traced_truths import (
    SPLIT,
    TRUTH,
    as_condition,
    asks_python,
    filtering,
    guard,
    is_decided_by,
    static_option,
    static_test,
)
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
    default = defaults_of(function).get(node.id)
    is_none = isinstance(default, ast.Constant) and default.value is None
    is_flag = value.dtype == bool and value.ndim == 0
    return node if is_none and not is_flag and not _is_rebound(function, node.id) else None


def _is_rebound(function: ast.AST, name: str) -> bool:
    """Return whether a function assigns to a name in another way than `name = name or default`."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        and not (isinstance(node.value, ast.BoolOp) and names_in(node.value.values[0]) == {name})
        for node in ast.walk(function)
    )


def _negation(facts: Facts) -> ast.AST | None:
    outer = facts.scene.source.parents.get(facts.node("x"))
    return outer if isinstance(outer, ast.UnaryOp) else None


def _alternatives(facts: Facts) -> ast.BoolOp | None:
    """Look at `x or other`."""
    outer = facts.scene.source.parents.get(facts.node("x"))
    return outer if isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.Or) else None


def _other(facts: Facts) -> ast.expr | None:
    first, *others = facts.node("alternatives").values
    return others[0] if first is facts.node("x") and len(others) == 1 else None


entry(
    "array_given_or_none",
    texts.BOOL,
    texts.AMBIGUOUS,
    **TRUTH | {"x": _optional},
    negation=_negation,
    alternatives=_alternatives,
    other=_other,
    title="An array's truth value does not say whether it was given",
    why="`{x}` is None if it is not given. Python asks an array for its entries, not whether it is there.",
    fixes=[
        Either(
            Swap("Compare with None.", alternatives="{x} if {x} is not None else {other}"),
            Swap("Compare with None.", negation="{x} is None"),
            Swap("Compare with None.", when=probes.unless(probes.knows("alternatives")), x="{x} is not None"),
            "Compare with None: `{x} is not None`.",
        )
    ],
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


_SEVERAL: dict[str, Any] = {
    "asked": probes.node,
    "x": probes.first(is_array),
    "logic": _logic,
    "place": probes.one_of(_logic, probes.node),
    "condition": as_condition("place"),
    "title": "More than one truth value",
    "why": "`{place}` has one answer for each entry, and Python asks for one in all.",
    "link": f"{texts.API}/jax.numpy.all.html",
}


def _is_whole_test(facts: Facts) -> bool:
    outer = facts.scene.source.parents.get(facts.node("place"))
    return getattr(outer, "test", None) is facts.node("place")


entry(
    "several_truth_values",
    texts.AMBIGUOUS,
    when=lambda facts: facts.knows("logic") and not _is_whole_test(facts),
    fixes=[Swap(_COMBINE, logic="{condition}")],
    **_SEVERAL,
)
entry(
    "several_truth_values",
    texts.AMBIGUOUS,
    when=probes.is_written("place", ast.Compare, ast.Name, ast.BoolOp, ast.UnaryOp),
    fixes=[
        Swap("All of them?", place="{jnp}.all({condition})"),
        Swap("Any of them?", place="{jnp}.any({condition})"),
    ],
    **_SEVERAL,
)


# Functions of Python.


def _asks(*names: str) -> Any:
    """Return the conditions for one of Python's functions to ask."""
    return [asks_python, probes.calls(*names), lambda facts: filtering(facts) is None]


def _nested(facts: Facts) -> str:
    """Say `jnp.maximum(a, jnp.maximum(b, c))` for `max(a, b, c)`."""
    first, *rest = facts.call().args
    text, name = facts.scene.quote(first), {"max": "maximum", "min": "minimum"}[facts["f"].name]
    for one in rest:
        text = f"{facts['jnp']}.{name}({text}, {facts.scene.quote(one)})"
    return text if rest else f"{facts['jnp']}.{facts['f'].name}({facts['array']})"


def _is_size(facts: Facts) -> bool:
    """Ask whether a number is the size of a new array, which must be known whatever computes it."""
    source = facts.scene.source
    outer = source.around(source.parents.get(facts.call()), (ast.Call, ast.stmt))
    return called(outer) in SIZED_FUNCTIONS


def _chosen_by_if(facts: Facts) -> Fix | None:
    """Return the fix for `if any(...)`."""
    outer = facts.scene.source.parents.get(facts.call())
    edit = expression_of_if(facts.scene, outer, by_where) if isinstance(outer, ast.If) else None
    return facts.scene.fix(facts.say("Use `jnp.{f.name}`, and choose with `jnp.where`."), edit)


def _are_numbers(facts: Facts) -> bool:
    """Ask whether what is sorted is an array of one axis, or a list or tuple of single numbers."""
    value = facts["value"].value
    if isinstance(value, list | tuple):
        return all(isinstance(one, int | float) or (is_array(one) and one.ndim == 0) for one in value)
    return is_array(value) and value.ndim == 1


def _backward(facts: Facts) -> str | None:
    """Say how to turn the order around, if that is all that `sorted` is told."""
    given = [(one.arg, facts.scene.spot.value(one.value)) for one in facts.call().keywords]
    return "" if given in ([], [("reverse", False)]) else "[::-1]" if given == [("reverse", True)] else None


_FUNCTION: dict[str, Any] = {
    **TRUTH,
    "value": probes.argument(0),
    "array": lambda facts: as_array(facts.scene, facts.node("value")),
    "title": "Python's `{f}` needs known values, but `{x}` is traced",
}
entry(
    "min_max_on_tracer",
    texts.BOOL,
    when=_asks("max", "min"),
    nested=_nested,
    why="Python's `{f}` compares now and keeps one, while JAX records the program, and the values come later.",
    fixes=[
        Swap(
            "Use JAX's own, which goes into the program and works elementwise.",
            when=lambda facts: not facts.call().keywords and not _is_size(facts),
            call="{nested}",
        ),
        static_option,
    ],
    link=f"{texts.API}/jax.numpy.maximum.html",
    **_FUNCTION,
)
entry(
    "any_all_on_tracer",
    texts.BOOL,
    when=_asks("any", "all"),
    why="Python's `{f}` looks at one value after the other now, while JAX records the program.",
    fixes=[
        Either(
            _chosen_by_if,
            Swap("Use `jnp.{f.name}`, which goes into the program.", call="{jnp}.{f.name}({array})"),
        )
    ],
    link=f"{texts.API}/jax.numpy.any.html",
    **_FUNCTION,
)
entry(
    "sorted_on_tracer",
    texts.BOOL,
    when=_asks("sorted"),
    backward=_backward,
    why="Python's `{f}` compares values now to order them, while JAX records the program.",
    fixes=[
        Swap(
            "Sort with `jnp.sort`, which goes into the program.",
            when=_are_numbers,
            call="{jnp}.sort({array}){backward}",
        )
    ],
    otherwise=[
        "Order the entries of arrays by a key with `{jnp}.argsort`, which gives their places: "
        "`values[{jnp}.argsort(keys)]`."
    ],
    link=f"{texts.API}/jax.numpy.sort.html",
    **_FUNCTION,
)
_KEEP = "Keep it an array: of dtype bool, it serves as a condition of `jnp.where` and `lax.cond`."
entry(
    "bool_of_tracer",
    texts.BOOL,
    when=_asks("bool"),
    why="`bool` makes a Python True or False now, while JAX records the program, and the value comes later.",
    fixes=[
        Either(
            Swap(_KEEP, when=probes.is_written("value", ast.Compare), call="({value})"),
            Swap(_KEEP, call="{value.atom}.astype(bool)"),
        ),
        static_option,
    ],
    **_FUNCTION | {"title": "`bool(...)` needs a known value, but `{x}` is traced"},
)


# `while` and `assert`.

_LOOP = "Let the program loop: `lax.while_loop` (forward mode only: `jax.grad` cannot go back through it)."
entry(
    "while_on_tracer",
    texts.BOOL,
    when=is_decided_by(ast.While),
    title="`while` needs a known value, but `{x}` is traced",
    why="Python's `while` asks before every turn, while JAX records the program, and no value is there yet.",
    fixes=[
        Either(
            lambda facts: facts.scene.fix(_LOOP, loop_of_while(facts.scene, facts.node("decision"))),
            Code(_LOOP, "{lax}.while_loop(condition, body, start)"),
        ),
        static_option,
    ],
    link=f"{texts.API}/jax.lax.while_loop.html",
    **TRUTH,
)


def _checked(facts: Facts) -> Fix | None:
    """Return the code that checks with `checkify`."""
    said, test = getattr(facts.node("decision").msg, "value", None), facts.part("test")
    message = said if isinstance(said, str) else str(test)
    return run_time_check(facts.scene, facts["x"].value, "`assert`", test.node, message)  # type: ignore[arg-type]


_ASSERT: dict[str, Any] = {
    **TRUTH,
    "guard": guard("test"),
    "condition": as_condition("test"),
    "title": "`assert` needs a known value, but `{x}` is traced",
    "why": "`assert` looks at the value now, while JAX records the program, and the value comes later.",
    "link": "https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
}
entry(
    "assert_on_tracer",
    texts.BOOL,
    when=[is_decided_by(ast.Assert), probes.knows("guard")],
    fixes=[SPLIT],
    **_ASSERT,
)
entry(
    "assert_on_tracer",
    texts.BOOL,
    when=is_decided_by(ast.Assert),
    fixes=[
        Swap(
            "Mark what must not happen with NaN, and look at the result outside.",
            when=lambda facts: str(facts["x"]).isidentifier() and jax.dtypes.issubdtype(facts["x"].dtype, np.inexact),
            decision="{x} = {jnp}.where({condition}, {x}, {jnp}.nan)",
        ),
        _checked,
    ],
    **_ASSERT,
)


# `in`, `and`, `or`, `not` and `0 < x < 1`.


def _is_membership(facts: Facts) -> bool:
    return isinstance(facts.node("asked").ops[0], ast.In | ast.NotIn)


entry(
    "in_on_tracer",
    texts.BOOL,
    when=[probes.is_written("asked", ast.Compare), probes.unless(probes.knows("decision")), _is_membership],
    condition=as_condition("asked"),
    title="`in` needs known values, but `{x}` is traced",
    why="Python's `in` compares now until one is equal, while JAX records the program, and no value is there yet.",
    fixes=[Swap("Compare with all of them at once.", asked="{condition}"), static_option],
    link=f"{texts.API}/jax.numpy.isin.html",
    **TRUTH,
)


def _taker(facts: Facts) -> ast.expr | None:
    """Look at a function, not of JAX, that is given the truth value and may itself need it to be known."""
    scene = facts.scene
    outer = scene.source.parents.get(facts.node("logic"))
    outer = scene.source.parents.get(outer) if isinstance(outer, ast.keyword) else outer
    if not isinstance(outer, ast.Call):
        return None
    value = scene.spot.value(outer.func)
    base = scene.spot.value(getattr(outer.func, "value", None))
    home = str(getattr(value, "__module__", None) or "").split(".")[0]
    of_jax = home in ("jax", "jaxlib", "numpy", "builtins") or (value is MISSING and is_array(base))
    return None if of_jax else outer.func


def _first_of_two(facts: Facts) -> ast.expr | None:
    """Look at the number `scale` in `scale or 1.0`, whose value is one of both and not a truth value."""
    values = getattr(facts.node("logic"), "values", [])
    value = facts.scene.spot.value(values[0]) if len(values) == 2 else None
    return values[0] if value is not None and is_array(value) and value.dtype != bool else None


def _chosen(facts: Facts) -> str:
    first, second = facts["first"], facts.node("logic").values[1]
    sides = [str(first), facts.scene.quote(second)]
    return ", ".join(sides if isinstance(facts.node("logic").op, ast.Or) else reversed(sides))


def _word(facts: Facts) -> str:
    node = facts.node("logic")
    if isinstance(node, ast.BoolOp):
        return "and" if isinstance(node.op, ast.And) else "or"
    return "not" if isinstance(node, ast.UnaryOp) else "and"


def _are_comparisons(facts: Facts) -> bool:
    return all(map(is_comparison, leaves(facts.node("logic"))))


def _is_plain(facts: Facts) -> bool:
    return not facts.knows("guard") and not facts.knows("taker")


for _kind, _node in (
    ("and_or_on_tracer", ast.BoolOp),
    ("not_on_tracer", ast.UnaryOp),
    ("chained_comparison_on_tracer", ast.Compare),
):
    entry(
        _kind,
        texts.BOOL,
        logic=_logic,
        when=[probes.unless(probes.knows("decision")), probes.is_written("logic", _node)],
        word=_word,
        guard=guard("logic"),
        taker=_taker,
        first=_first_of_two,
        chosen=_chosen,
        condition=as_condition("logic"),
        functions=lambda facts: condition(facts.scene, facts.node("logic"), with_functions=True),
        title=f"`{'{logic}' if _node is ast.Compare else '{word}'}` needs a known value, but `{{x}}` is traced",
        why="Python's `{word}` decides now what is true, while JAX records the program; it cannot be recorded.",
        fixes=[
            SPLIT,
            Either(static_test, when=probes.knows("taker")),
            "Write `{functions}`, if `{taker}` can take a traced value.",
            Either(
                Swap(
                    "If a number is meant: `{word}` gives one of its two values, and `jnp.where` chooses it.",
                    logic="{jnp}.where({first.atom} != 0, {chosen})",
                ),
                Swap(_COMBINE, when=_are_comparisons, logic="{condition}"),
                when=_is_plain,
            ),
            Swap("With functions, which take numbers for truth values too.", when=_is_plain, logic="{functions}"),
            static_option,
        ],
        link=f"{texts.API}/jax.numpy.logical_and.html",
        **TRUTH,
    )


# Calls of other functions.


def _depended_on(facts: Facts) -> ast.expr | None:
    """Look at the part of the call on which the truth depends, as JAX says."""
    behind = texts.DEPENDS_ON.search(facts.scene.message)
    parts = [part for part, _value in facts.scene.spot.parts(facts.node("asked"))]
    return next((one for one in parts if behind is not None and facts.scene.quote(one) == behind[1]), None)


entry(
    "static_needed",
    texts.BOOL,
    when=[probes.is_written("asked", ast.Call), probes.unless(asks_python), probes.unless(probes.knows("decision"))],
    title="`{f}` needs a known value, but `{x}` is traced",
    why="`{f}` looks at this argument now, while JAX records the program, and its value comes later.",
    fixes=[Static("x")],
    link=texts.STATIC_LINK,
    **TRUTH | {"x": probes.one_of(_depended_on, TRUTH["x"])},
)
