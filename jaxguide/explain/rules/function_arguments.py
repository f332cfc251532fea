"""Explain functions that take another number of arguments than JAX's loops, branches and maps give them."""

import ast
import math
from typing import Any

from jaxguide.base.text import plural
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import function_behind, parameters

# For each loop of `jax.lax`: where its functions are, how many arguments they get, and which argument holds them.
_GIVEN: dict[str, tuple[tuple[tuple[int, str], ...], int, tuple[int, str]]] = {
    "scan": (((0, "f"),), 2, (2, "xs")),
    "while_loop": (((0, "cond_fun"), (1, "body_fun")), 1, (2, "init_val")),
    "fori_loop": (((2, "body_fun"),), 2, (3, "init_val")),
    "map": (((0, "f"),), 1, (1, "xs")),
}
_WHY = {
    "scan": "`lax.scan` gives its body two arguments: the carry, and one entry of `xs`, a tuple if `xs` is one.",
    "while_loop": "`lax.while_loop` gives its functions one argument: the carry, a tuple if it starts as one.",
    "fori_loop": "`lax.fori_loop` gives its body two arguments: the number of the turn, and the carry.",
    "map": "`lax.map` gives its function one argument: one entry of `xs`, a tuple if `xs` is one.",
    "cond": "`lax.cond` gives both branches the operands that follow them, whichever is taken.",
    "switch": "`lax.switch` gives every branch the operands that follow the list.",
}


def _takes(facts: Facts, node: Any) -> tuple[float, float] | None:
    """Find the least and the largest number of positional arguments that a function takes."""
    bound = 0
    if isinstance(node, ast.Call) and called(node) == "partial" and not node.keywords:
        node, bound = node.args[0], len(node.args) - 1
    place = function_behind(facts.scene.spot, node)
    if place is None:
        return None
    count, said = len(parameters(place[1])) - bound, place[1].args
    return count - len(said.defaults), math.inf if said.vararg is not None else count


def _can_take(facts: Facts, node: Any, count: int) -> bool:
    """Ask whether a function can be called with so many arguments, also if that is not known."""
    takes = _takes(facts, node)
    return takes is None or takes[0] <= count <= takes[1]


def _functions(facts: Facts) -> list[ast.expr]:
    """Look at the functions that the running loop or choice is given."""
    call, name = facts.call(), facts["f"].name
    if name == "switch":
        return list(getattr(argument_of(call, 1), "elts", []))
    places = ((1, "true_fun"), (2, "false_fun")) if name == "cond" else _GIVEN[name][0]
    return [one for place in places if (one := argument_of(call, *place)) is not None]


def _operands(facts: Facts) -> list[ast.expr]:
    """Look at the operands of the branches."""
    return facts.call().args[3 if facts["f"].name == "cond" else 2 :]


def _count(facts: Facts) -> int:
    """Find how many arguments JAX gives the functions."""
    name = facts["f"].name
    return _GIVEN[name][1] if name in _GIVEN else len(_operands(facts))


def _wrong(facts: Facts) -> list[Part] | None:
    """Look at the functions that cannot take what they are given."""
    wrong = [facts.at(one) for one in _functions(facts) if not _can_take(facts, one, facts["count"])]
    return wrong or None


def _said(facts: Facts) -> str:
    """Say how many arguments the function takes."""
    least, most = _takes(facts, facts.node("x")) or (0, 0)
    return plural("{count} argument", "{count} arguments", most if most < facts["count"] else least)


def _fits_parts(facts: Facts) -> bool:
    """Ask whether the functions take the parts of the tuple one by one, in place of the tuple."""
    value, items = facts.value("holder"), getattr(facts.node("holder"), "elts", None)
    parts = len(value) if isinstance(value, tuple | list) else len(items or ())
    return parts > 0 and all(_can_take(facts, part.node, facts["count"] - 1 + parts) for part in facts["wrong"])


def _parameter(facts: Facts) -> Part | None:
    """Look at the last parameter of the function, where it is defined."""
    place = function_behind(facts.scene.spot, facts.node("x"))
    own = parameters(place[1]) if place is not None else []
    return Part(own[-1], place[0], facts.scene) if place is not None and own else None


_COUNT: dict[str, Any] = {
    "x": lambda facts: facts["wrong"][0],
    "wrong": _wrong,
    "count": _count,
    "name": lambda facts: "lambda" if isinstance(facts.node("x"), ast.Lambda) else str(facts["x"]),
    "takes": _said,
    "reason": lambda facts: _WHY[facts["f"].name],
    "parameter": _parameter,
    "variable": "{name}",
    "title": "`{f}` was given a function that takes another number of arguments",
    "what": "`{name}` takes {takes}, and is given {count}.",
    "why": "{reason}",
    "link": f"{texts.API}/jax.lax.{{f.name}}.html",
}
_OF_LAX = probes.calls_of("jax")
_ONE_BY_ONE = "Hand over the parts of the tuple one by one."
entry(
    "function_arguments",
    structure_texts.ARGUMENT_COUNT,
    x=probes.argument(2),
    first=probes.argument(1),
    function=probes.argument(0),
    when=[_OF_LAX, probes.calls("map"), lambda facts: facts["g1"] == "map"],
    arrays=lambda facts: ", ".join(facts.scene.quote(one) for one in facts.call().args[1:]),
    title="`{f}` was given more than one argument to map over",
    what="`{x}` follows `{first}`.",
    why=_WHY["map"],
    fixes=[
        Swap("Map over a tuple of them.", call="{f}(lambda entries: {function.atom}(*entries), ({arrays}))"),
        "Or use `jax.vmap`, which maps over several arguments and computes all at once.",
    ],
    link=f"{texts.API}/jax.lax.map.html",
)
entry(
    "function_arguments",
    structure_texts.ARGUMENT_COUNT,
    when=[_OF_LAX, probes.calls(*_GIVEN)],
    second=lambda facts: facts["wrong"][1] if len(facts["wrong"]) > 1 else None,
    holder=lambda facts: argument_of(facts.call(), *_GIVEN[facts["f"].name][2]),
    before=lambda facts: {"scan": "carry, ", "fori_loop": "i, "}.get(facts["f"].name, ""),
    part=lambda facts: "entries" if facts["f"].name in ("scan", "map") else "carry",
    turn=lambda facts: "i" if str(facts["parameter"]) != "i" else "_",
    needed=lambda facts: plural("one argument", "{count} arguments", facts["count"]),
    fixes=[
        Either(
            Swap(
                _ONE_BY_ONE,
                x="lambda {before}{part}: {x.atom}({before}*{part})",
                second="lambda {before}{part}: {second.atom}({before}*{part})",
            ),
            Swap(_ONE_BY_ONE, x="lambda {before}{part}: {x.atom}({before}*{part})"),
            when=_fits_parts,
        ),
        Swap(
            "Take the number of the turn first.",
            when=lambda facts: facts["f"].name == "fori_loop" and facts["takes"] == "1 argument",
            parameter="{turn}, {parameter}",
        ),
        Swap(
            "Take the entry of `xs` too, even if it is not used.",
            when=lambda facts: facts["f"].name == "scan" and facts["takes"] == "1 argument",
            parameter="{parameter}, _",
        ),
    ],
    otherwise="Let it take {needed}, and bind what stays the same with a `lambda` or `functools.partial`.",
    **_COUNT,
)
entry(
    "function_arguments",
    structure_texts.ARGUMENT_COUNT,
    when=[_OF_LAX, probes.calls("cond", "switch"), lambda facts: not facts.call().keywords],
    holder=lambda facts: _operands(facts)[0] if facts["count"] == 1 else None,
    kept=lambda facts: ", ".join(facts.scene.quote(one) for one in facts.call().args[: -facts["count"]]),
    fixes=Either(
        Swap("Give the parts of the tuple as operands.", when=_fits_parts, holder="*{holder.atom}"),
        Swap(
            "Leave the operands out: these branches use what is around them.",
            when=lambda facts: all(_takes(facts, one) == (0, 0) for one in _functions(facts)),
            call="{f}({kept})",
        ),
        Swap(
            "Let every branch take all operands, even if it uses only some.",
            when=lambda facts: len(facts["wrong"]) == 1,
            parameter="{parameter}, *_",
        ),
        "Give as many operands after the branches as every branch takes.",
    ),
    **_COUNT,
)


# What is no function, and what is no array to go along.

_ORDER = {
    "scan": ("lax.scan(f, init, xs)", (0,)),
    "while_loop": ("lax.while_loop(cond_fun, body_fun, init_val)", (0, 1)),
    "fori_loop": ("lax.fori_loop(lower, upper, body_fun, init_val)", (2,)),
}


def _no_function(facts: Facts) -> ast.expr | None:
    """Look at what is given as a function and is none."""
    given = [one for number, one in enumerate(facts.call().args) if number in _ORDER[facts["f"].name][1]]
    values = [(one, facts.scene.spot.value(one)) for one in given if not isinstance(one, ast.Lambda)]
    return next((one for one, value in values if value is MISSING or not callable(value)), None)


entry(
    "function_elsewhere",
    structure_texts.NOT_A_FUNCTION,
    x=_no_function,
    when=[probes.calls(*_ORDER), lambda facts: facts["f"].name in facts["g1"]],
    order=lambda facts: _ORDER[facts["f"].name][0],
    title="`{f}` was given something that is not a function",
    what=("{x.is_here}", "`{x}` is given as a function."),
    why="The order of its arguments is `{order}`.",
    fixes="Give the function itself, not its result, in its place.",
    link=f"{texts.API}/jax.lax.{{f.name}}.html",
)


def _are_numbers(facts: Facts) -> bool:
    """Ask whether it is a number, a range, or a list of numbers."""
    value = facts.value("x")
    listed = isinstance(value, list | tuple) and all(isinstance(one, int | float | complex) for one in value)
    return (
        listed
        or isinstance(value, int | range)
        or str(facts["x"]).startswith(("range(", "list(range(", "tuple(range("))
    )


def _counted(facts: Facts) -> str | None:
    """Say what is counted up to, or what `range` is given."""
    if isinstance(facts.value("x"), int):
        return str(facts["x"])
    ranges = [one for one in ast.walk(facts.node("x")) if called(one) == "range" and isinstance(one, ast.Call)]
    return ", ".join(facts.scene.quote(one) for one in ranges[0].args) if ranges else None


_NUMBERS: dict[str, Any] = {
    "x": lambda facts: argument_of(facts.call(), *_GIVEN[facts["f"].name][2]),
    "title": "`lax.{f.name}` has no axis to go along",
    "why": "`lax.{f.name}` takes one entry after the other, along the first axis of every array.",
    "link": f"{texts.API}/jax.lax.{{f.name}}.html",
}
_OVER_XS = probes.calls("scan", "map")
entry(
    "scan_over_numbers",
    structure_texts.NO_LEADING_AXIS,
    texts.NOT_JAX_TYPE,
    when=[_OVER_XS, _are_numbers],
    what=("{x.is_here}", "`{x}` holds numbers, which have no axis."),
    counted=_counted,
    fixes=Either(
        Swap("Count with an array.", x="{jnp}.arange({counted})"),
        Swap("Make one array of the numbers.", x="{jnp}.array({x})"),
    ),
    **_NUMBERS,
)
entry(
    "scan_over_numbers",
    structure_texts.NO_LEADING_AXIS,
    when=_OVER_XS,
    what="Among the leaves of `{x}` is a number, which has no axis.",
    fixes=Either(
        Words(
            "If all are numbers, make one array of them: `{jnp}.array({x})`. If not, leave the number out, and use "
            "it from outside the body.",
            when=lambda facts: probes.is_written("x", ast.Call, ast.ListComp)(facts) and facts.value("x") is MISSING,
        ),
        "Leave the number out of what is taken apart, and use it from outside the body.",
    ),
    **_NUMBERS,
)
