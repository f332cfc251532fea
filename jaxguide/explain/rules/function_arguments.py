"""Explain functions that take another number of arguments than JAX's loops, branches and maps give them."""

import ast
import inspect
import re
from typing import Any

from jaxguide.base.text import plural
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import function_behind, parameters

# Where the functions are that are given, how many arguments they get (below 0: those after so many), and which.
_GIVEN: dict[str, tuple[tuple[int, ...], int, str]] = {
    "scan": ((0,), 2, "its body two arguments: the carry, and one entry of `xs`, a tuple if `xs` is one."),
    "while_loop": ((0, 1), 1, "its functions one argument: the carry, a tuple if it starts as one."),
    "fori_loop": ((2,), 2, "its body two arguments: the number of the turn, and the carry."),
    "map": ((0,), 1, "its function one argument: one entry of `xs`, a tuple if `xs` is one."),
    "cond": ((1, 2), -3, "both branches the operands that follow them, whichever is taken."),
    "switch": ((1,), -2, "every branch the operands that follow the list."),
}
_LINK = f"{texts.API}/jax.lax.{{f.name}}.html"


def _functions(facts: Facts) -> list[Any]:
    """Look at the functions that the running loop or choice is given."""
    given = [argument_of(facts.call(), place) for place in _GIVEN[facts["f"].name][0]]
    return [function for one in given if one is not None for function in getattr(one, "elts", [one])]


def _takes(facts: Facts, node: Any, count: int) -> int | None:
    """Find how many arguments a function takes, if it is known and cannot take so many."""
    bound = node.args[1:] if called(node) == "partial" and not node.keywords else []
    place = function_behind(facts.scene.spot, node.args[0] if bound else node)
    if place is None:
        return None
    most = len(parameters(place[1])) - len(bound)
    least = most - len(place[1].args.defaults)
    return least if count < least else most if most < count and place[1].args.vararg is None else None


entry(
    "function_arguments",
    structure_texts.ARGUMENT_COUNT,
    x=probes.argument(2),
    first=probes.argument(1),
    when=[probes.calls_of("jax"), probes.calls("map"), lambda facts: facts["g1"] == "map"],
    title="`{f}` was given more than one argument to map over",
    what="`{x}` follows `{first}`.",
    why=f"`lax.map` gives {_GIVEN['map'][2]}",
    fixes="Map over a tuple of them, or use `jax.vmap`, which maps over several arguments and computes all at once.",
    link=_LINK,
)
entry(
    "function_arguments",
    structure_texts.ARGUMENT_COUNT,
    x=lambda facts: next((one for one in _functions(facts) if _takes(facts, one, facts["count"]) is not None), None),
    row=lambda facts: _GIVEN[facts["f"].name],
    count=lambda facts: facts["row"][1] if facts["row"][1] > 0 else len(facts.call().args) + facts["row"][1],
    when=[
        probes.calls_of("jax"),
        probes.calls(*_GIVEN),
        lambda facts: facts["row"][1] > 0 or not facts.call().keywords,
    ],
    entries=probes.argument(2, "xs"),
    parts=lambda facts: getattr(facts.node("entries"), "elts", None) or facts["entries"].value,
    name=lambda facts: "lambda" if isinstance(facts.node("x"), ast.Lambda) else str(facts["x"]),
    own=lambda facts: _takes(facts, facts.node("x"), facts["count"]),
    takes=lambda facts: plural("{count} argument", "{count} arguments", facts["own"]),
    variable="{name}",
    title="`{f}` was given a function that takes another number of arguments",
    what="`{name}` takes {takes}, and is given {count}.",
    why="`lax.{f.name}` gives {row[2]}",
    fixes=Either(
        Swap(
            "Hand over the parts of the tuple one by one.",
            when=lambda facts: (
                isinstance(facts["parts"], list | tuple)
                and (facts["f"].name, _takes(facts, facts.node("x"), 1 + len(facts["parts"]))) == ("scan", None)
            ),
            x="lambda carry, entries: {x.atom}(carry, *entries)",
        ),
        Words("Give as many operands after the branches as every branch takes.", when=probes.calls("cond", "switch")),
        "Let it take as many: unpack tuples inside it, and bind what stays the same with `functools.partial`.",
    ),
    link=_LINK,
)
entry(
    "function_elsewhere",
    structure_texts.NOT_A_FUNCTION,
    x=lambda facts: next((one for one in _functions(facts) if _takes(facts, one, -1) is None), None),
    when=[probes.calls("scan", "while_loop", "fori_loop"), lambda facts: not callable(facts.value("x"))],
    order=lambda facts: ", ".join([*inspect.signature(facts["f"].value).parameters][:4]),
    title="`{f}` was given something that is not a function",
    what=("{x.is_here}", "`{x}` is given as a function."),
    why="The order of its arguments is `{f}({order})`.",
    fixes="Give the function itself, not its result, in its place.",
    link=_LINK,
)


def _counted(facts: Facts) -> str | None:
    """Say what is counted up to, or what `range` is given."""
    found = re.fullmatch(r"(?:(?:list|tuple)\()?range\(([^()]*)\)+", str(facts["x"]))
    return str(facts["x"]) if isinstance(facts.value("x"), int) else found and found[1]


def _numbers(facts: Facts) -> Part | None:
    """Look at what is gone through, if it is a number, a range, or a list of numbers."""
    value = [facts.value("x")] if isinstance(facts.value("x"), int | range) else facts.value("x")
    is_list = isinstance(value, list | tuple) and all(isinstance(one, int | float | range) for one in value)
    return facts.part("x") if is_list or re.match(r"((list|tuple)\()?range\(", str(facts["x"])) else None


entry(
    "scan_over_numbers",
    structure_texts.NO_LEADING_AXIS,
    texts.NOT_JAX_TYPE,
    x=lambda facts: argument_of(facts.call(), 2 if facts["f"].name == "scan" else 1, "xs"),
    counted=_counted,
    numbers=_numbers,
    when=[
        probes.calls("scan", "map"),
        lambda facts: isinstance(facts.scene.error, ValueError) or facts.knows("numbers"),
    ],
    title="`lax.{f.name}` has no axis to go along",
    what=(
        "{numbers.is_here}",
        "`{numbers}` holds numbers, which have no axis.",
        "Among the leaves of `{x}` is a number, which has no axis.",
    ),
    why="`lax.{f.name}` takes one entry after the other, along the first axis of every array.",
    fixes=Either(
        Swap("Count with an array.", x="{jnp}.arange({counted})"),
        Swap("Make one array of the numbers.", x="{jnp}.array({numbers})"),
        "Leave the number out, and use it from outside the body; if all are numbers, make one array of them.",
    ),
    link=_LINK,
)
