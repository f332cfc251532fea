"""Explain arrays where Python needs True or False: `while`, `assert`, `and`, `not`, `in`, `max`, and other calls."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain import traced_truths as truths
from jaxguide.explain.catalogue import Code, Either, Static, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.conditions import as_array, condition
from jaxguide.explain.rewrites.control_flow import by_where, expression_of_if, loop_of_while
from jaxguide.explain.rewrites.run_time_checks import run_time_check
from jaxguide.explain.rewrites.static_arguments import SIZED_FUNCTIONS
from jaxguide.explain.scene import called
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


def _other(facts: Facts) -> ast.expr | None:
    """Look at the default in `x or default`."""
    outer = facts.node("outer")
    is_or = isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.Or) and outer.values[0] is facts.node("x")
    return outer.values[1] if is_or else None


entry(
    "array_given_or_none",
    texts.BOOL,
    texts.AMBIGUOUS,
    **truths.TRUTH | {"x": _optional},
    outer=lambda facts: facts.scene.source.parents.get(facts.node("x")),
    other=_other,
    title="An array's truth value does not say whether it was given",
    why="`{x}` is None if it is not given. Python asks an array for its entries, not whether it is there.",
    fixes=Either(
        Swap("Compare with None.", outer="{x} if {x} is not None else {other}"),
        Swap("Compare with None.", when=probes.is_written("outer", ast.UnaryOp), outer="{x} is None"),
        Swap("Compare with None.", when=probes.unless(probes.is_written("outer", ast.BoolOp)), x="{x} is not None"),
        "Compare with None: `{x} is not None`.",
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


def _nested(facts: Facts) -> str:
    """Say `jnp.maximum(a, jnp.maximum(b, c))` for `max(a, b, c)`."""
    text, *rest = map(facts.scene.quote, facts.call().args)
    for one in rest:
        text = f"{facts['jnp']}.{facts['f'].name}imum({text}, {one})"
    return text if rest else f"{facts['jnp']}.{facts['f'].name}({facts['array']})"


def _is_size(facts: Facts) -> bool:
    """Ask whether a number is the size of a new array, which must be known whatever computes it."""
    source = facts.scene.source
    return called(source.around(source.parents.get(facts.call()), (ast.Call, ast.stmt))) in SIZED_FUNCTIONS


def _chosen_by_if(facts: Facts) -> Fix | None:
    """Return the fix for `if any(...)`."""
    outer = facts.scene.source.parents.get(facts.call())
    edit = expression_of_if(facts.scene, outer, by_where) if isinstance(outer, ast.If) else None
    return facts.scene.fix(facts.say("Use `jnp.{f.name}`, and choose with `jnp.where`."), edit)


def _asks(*names: str) -> Any:
    """Return the conditions for one of Python's functions to ask."""
    return [truths.asks_python, probes.calls(*names), lambda facts: truths.filtering(facts) is None]


_FUNCTION: dict[str, Any] = {
    **truths.TRUTH,
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
        truths.static_option,
    ],
    **_FUNCTION,
)
entry(
    "any_all_on_tracer",
    texts.BOOL,
    when=_asks("any", "all"),
    why="Python's `{f}` looks at one value after the other now, while JAX records the program.",
    fixes=Either(
        _chosen_by_if,
        Swap("Use `jnp.{f.name}`, which goes into the program.", call="{jnp}.{f.name}({array})"),
    ),
    **_FUNCTION,
)
entry(
    "sorted_on_tracer",
    texts.BOOL,
    when=_asks("sorted"),
    why="Python's `{f}` compares values now to order them, while JAX records the program.",
    fixes="Sort the entries of one array with `{jnp}.sort`, which goes into the program; order several by a key with "
    "`{jnp}.argsort`, which gives their places: `values[{jnp}.argsort(keys)]`.",
    **_FUNCTION,
)
entry(
    "bool_of_tracer",
    texts.BOOL,
    when=_asks("bool"),
    why="`bool` makes a Python True or False now, while JAX records the program, and the value comes later.",
    fixes=[
        Swap(
            "Keep it an array: of dtype bool, it serves as a condition of `jnp.where` and `lax.cond`.",
            call="{value.atom}.astype(bool)",
        ),
        truths.static_option,
    ],
    **_FUNCTION | {"title": "`bool(...)` needs a known value, but `{x}` is traced"},
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


def _checked(facts: Facts) -> Fix | None:
    """Return the code that checks with `checkify`."""
    return run_time_check(facts.scene, facts["x"].value, facts.node("decision"), facts.node("test"))


entry(
    "assert_on_tracer",
    texts.BOOL,
    when=truths.is_decided_by(ast.Assert),
    guard=truths.guard("test"),
    condition=truths.as_condition("test"),
    title="`assert` needs a known value, but `{x}` is traced",
    why="`assert` looks at the value now, while JAX records the program, and the value comes later.",
    fixes=truths.SPLIT,
    otherwise=[
        Swap(
            "Mark what must not happen with NaN, and look at the result outside.",
            when=lambda facts: str(facts["x"]).isidentifier() and jax.dtypes.issubdtype(facts["x"].dtype, np.inexact),
            decision="{x} = {jnp}.where({condition}, {x}, {jnp}.nan)",
        ),
        _checked,
    ],
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


def _taker(facts: Facts) -> ast.expr | None:
    """Look at a function, not of JAX, that is given the truth value and may itself need it to be known."""
    outer = facts.scene.source.around(facts.node("logic"), (ast.Call, ast.stmt))
    home = getattr(facts.scene.spot.value(getattr(outer, "func", None)), "__module__", None) or "jax"
    return None if home.split(".")[0] in ("jax", "jaxlib", "numpy", "builtins") else getattr(outer, "func", None)


def _number(facts: Facts) -> ast.expr | None:
    """Look at the number `scale` in `scale or 1.0`, whose value is one of both and not a truth value."""
    first = getattr(facts.node("logic"), "values", [None])[0]
    value = facts.scene.spot.value(first)
    return first if is_array(value) and value.dtype != bool else None


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
        taker=_taker,
        number=_number,
        condition=truths.as_condition("logic"),
        functions=lambda facts: condition(facts.scene, facts.node("logic"), with_functions=True),
        title=f"`{'{logic}' if _node is ast.Compare else _word}` needs a known value, but `{{x}}` is traced",
        why=f"Python's `{_word}` decides now what is true, while JAX records the program; it cannot be recorded.",
        fixes=[
            truths.SPLIT,
            Either(truths.static_test, when=probes.knows("taker")),
            "Write `{functions}`, if `{taker}` can take a traced value.",
        ],
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


def _depended_on(facts: Facts) -> ast.expr | None:
    """Look at the part of the call on which the truth depends, as JAX says."""
    parts = [part for part, _value in facts.scene.spot.parts(facts.node("asked"))]
    return next((one for one in parts if facts.scene.quote(one) == facts["behind"][1]), None)


entry(
    "static_needed",
    texts.BOOL,
    when=[_is_value, probes.is_written("asked", ast.Call), probes.unless(truths.asks_python)],
    behind=probes.said(texts.DEPENDS_ON),
    title="`{f}` needs a known value, but `{x}` is traced",
    why="`{f}` looks at this argument now, while JAX records the program, and its value comes later.",
    fixes=Static("x"),
    **truths.TRUTH | {"x": probes.one_of(_depended_on, truths.TRUTH["x"])},
)
