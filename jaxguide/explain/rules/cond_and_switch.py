"""Explain `lax.cond` and `lax.switch`, and functions that take another number of arguments than they and loops give."""

import ast
import inspect
import re
from functools import partial
from typing import Any

import jax.numpy as jnp

from jaxguide.base.text import plural
from jaxguide.code.source import source_of
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, Probe, known
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import function_behind, parameters, part_of

_of_lax = partial(entry, link=f"{texts.API}/jax.lax.{{f.name}}.html")
_entry = partial(entry, link=f"{texts.API}/jax.lax.cond.html")


def _branches(facts: Facts) -> list[ast.expr]:
    """Return the branches that the running call writes out."""
    given = facts.call().args
    return given[1:3] if called(facts.call()) == "cond" else getattr(given[1], "elts", []) if len(given) > 1 else []


def _branch(position: int) -> Probe:
    """Look at the definition of the first or second of the branches that the message compares."""

    def found(facts: Facts) -> Part | None:
        said = texts.BRANCH_PLACES.findall(facts.scene.message)
        if len(said) <= position or not probes.calls("cond", "switch")(facts):
            return None
        branch, function, file, line = said[position]
        number = 1 if branch == "false_fun" else int(re.sub(r"\D", "", branch) or 0)
        written: Part | None = probes.definition(lambda facts: dict(enumerate(_branches(facts))).get(number))(facts)
        source = source_of(file)
        node = source.function_at(function.split(".")[-1], int(line)) if source and function != "<lambda>" else None
        return Part(node, source, facts.scene) if written is None and source is not None and node else written

    return found


_compared = partial(
    _entry,
    first=_branch(0),
    second=_branch(1),
    one=probes.result_of("first"),
    other=probes.result_of("second"),
    why="The program goes on with one result, whichever branch ran, so both must return the same structure.",
)


# Results that differ.


def _leaf(facts: Facts) -> Part:
    """Look at the part of a result to change: the one of the narrower dtype, or else the scalar."""
    said = facts["said"]
    is_second = said["shape"] if said["dtype"] == said["other_dtype"] else said["other_dtype"] != facts["wanted"]
    name = "other" if is_second else "one"
    return facts.part(name).inside(known(part_of(facts.node(name), facts["path"])))


def _named(function: str, said: str) -> Probe:
    """Say a branch as a call of its function, or as JAX does: `branch 1`."""
    by_jax: Probe = lambda facts: re.sub("branch ?", "branch ", facts["said"][said])  # noqa: E731
    return probes.one_of(probes.words(f"{{{function}.name}}(...)"), by_jax)


_compared(
    "branch_types",
    texts.BRANCH_TYPE,
    x=probes.one_of(_leaf, probes.words("{branch}{path}")),
    # If dtypes and shapes are equal, the axes of a mesh differ: `shardings.py`.
    when=lambda facts: facts["said"].group("dtype", "shape") != facts["said"].group("other_dtype", "other_shape"),
    said=probes.said(texts.BRANCH_TYPES),
    branch=_named("first", "one"),
    other_branch=_named("second", "other"),
    path=lambda facts: facts["said"]["path"] or "",
    dtypes=lambda facts: facts["said"].group("dtype", "other_dtype"),
    wanted=lambda facts: None if "key<" in "".join(facts["dtypes"]) else str(jnp.promote_types(*facts["dtypes"])),
    leaf=_leaf,
    title="The branches return results of different types",
    what=(
        "`{branch}{path}` gives `{said[dtype]}[{said[shape]}]`, `{other_branch}{path}` gives "
        "`{said[other_dtype]}[{said[other_shape]}]`."
    ),
    why="The program goes on with one result, whichever branch ran, so both must have the same shape and dtype.",
    fixes=Either(
        Words(
            "Give all branches one shape: pad the smaller results, as with `{jnp}.pad`, reduce the larger ones, or "
            "return zeros of that shape where there is nothing to return.",
            when=lambda facts: facts["said"]["shape"] != facts["said"]["other_shape"],
        ),
        Swap(
            "Give both the same dtype: convert `{leaf}`.",
            # The only difference.
            when=lambda facts: len(texts.BRANCH_TYPES.findall(facts.scene.message)) == 1 and len(_branches(facts)) == 2,
            leaf="{jnp}.asarray({leaf}, {jnp}.{wanted})",
        ),
        "Give both the same dtype.",
    ),
)
_compared(
    "branch_returns_none",
    texts.BRANCH_STRUCTURE,
    x=lambda facts: next((facts[one] for one in ("first", "second") if probes.returns_nothing(one)(facts)), None),
    variable="{x.name}",
    title="A branch without `return`",
    what="`{x.name}` returns None, and the other branch does not.",
    fixes="End it with `return`, and what the other branch returns, changed or not.",
)
_compared(
    "branch_structure",
    texts.BRANCH_STRUCTURE,
    x=lambda facts: facts["other" if isinstance(facts.node("one"), ast.Tuple) else "one"],
    said=probes.said(texts.CARRY_KEYS),
    keys=lambda facts: " and ".join(f"`'{one}'`" for one in re.findall(r"'([^']*)'", facts["said"][1])) or None,
    title="The branches return results of different structures",
    what="One branch returns `{one}`, the other `{other}`.",
    fixes=Either(
        "Return {keys} from both branches, or from neither.",
        "Return as many parts from both, in the same kind of container: a list is not a tuple, and "
        "`{jnp}.zeros_like` makes something that fits for what is missing.",
    ),
)

# What is given.
_entry(
    "branch_no_function",
    texts.COND_NOT_CALLABLE,
    values=lambda facts: [one for one in _branches(facts) if not isinstance(one, ast.Lambda)],
    x=lambda facts: next((one for one in facts["values"] if not callable(facts.scene.spot.value(one))), None),
    title="A branch that is not a function",
    what="`{x}` is a value, computed before `lax.cond` is asked.",
    why="`lax.cond` runs one of two functions; a value is computed already, whichever is chosen.",
    fixes="Choose between two values with `{jnp}.where`, or give functions, which take the operands.",
)
_of_lax(
    "switch_index",
    structure_texts.SWITCH_INDEX,
    x=probes.argument(0),
    when=probes.calls("switch"),
    title="`lax.switch` was given an index that is not an integer",
    what="`{x}` has dtype {g1} here.",
    why="The branches are numbered from 0, and the index is the number of one.",
    fixes=Swap("Make it an integer.", x="{jnp}.asarray({x}, int)"),
)
_entry(
    "condition_with_axes",
    texts.COND_PREDICATE,
    x=probes.argument(0),
    when=probes.calls("cond"),
    title="A condition with axes",
    what="`{x}` has shape {g1}.",
    why="`lax.cond` makes one choice, so its condition is one bool, of shape ().",
    fixes="Make one truth value of it, with `jnp.all` or `jnp.any`; or choose elementwise, with `jnp.where`.",
)


# Functions that take another number of arguments than JAX's loops, branches and maps give them.


# Where the functions are that are given, how many arguments they get (below 0: those after so many), and which.
_GIVEN: dict[str, tuple[tuple[int, ...], int, str]] = {
    "scan": ((0,), 2, "its body two arguments: the carry, and one entry of `xs`, a tuple if `xs` is one."),
    "while_loop": ((0, 1), 1, "its functions one argument: the carry, a tuple if it starts as one."),
    "fori_loop": ((2,), 2, "its body two arguments: the number of the turn, and the carry."),
    "map": ((0,), 1, "its function one argument: one entry of `xs`, a tuple if `xs` is one."),
    "cond": ((1, 2), -3, "both branches the operands that follow them, whichever is taken."),
    "switch": ((1,), -2, "every branch the operands that follow the list."),
}


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


_of_lax(
    "function_arguments",
    structure_texts.ARGUMENT_COUNT,
    x=probes.argument(2),
    first=probes.argument(1),
    when=[probes.calls_of("jax"), probes.calls("map"), lambda facts: facts["g1"] == "map"],
    title="`{f}` was given more than one argument to map over",
    what="`{x}` follows `{first}`.",
    why=f"`lax.map` gives {_GIVEN['map'][2]}",
    fixes="Map over a tuple of them, or use `jax.vmap`, which maps over several arguments and computes all at once.",
)
_of_lax(
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
    takes=lambda facts: plural(
        "{count} argument", "{count} arguments", _takes(facts, facts.node("x"), facts["count"]) or 0
    ),
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
)
_of_lax(
    "function_elsewhere",
    structure_texts.NOT_A_FUNCTION,
    x=lambda facts: next((one for one in _functions(facts) if _takes(facts, one, -1) is None), None),
    when=[probes.calls("scan", "while_loop", "fori_loop"), lambda facts: not callable(facts.value("x"))],
    order=lambda facts: ", ".join([*inspect.signature(facts["f"].value).parameters][:4]),
    title="`{f}` was given something that is not a function",
    what=("{x.is_here}", "`{x}` is given as a function."),
    why="The order of its arguments is `{f}({order})`.",
    fixes="Give the function itself, not its result, in its place.",
)


def _numbers(facts: Facts) -> Any:
    """Look at what is gone through, if it is a number, a range, or a list of numbers."""
    value = facts.value("x")
    is_list = isinstance(value, list | tuple) and all(isinstance(one, int | float | range) for one in value)
    is_plain = isinstance(value, int | range) or is_list or re.match(r"((list|tuple)\()?range\(", str(facts["x"]))
    return facts["x"] if is_plain else None


_of_lax(
    "scan_over_numbers",
    structure_texts.NO_LEADING_AXIS,
    texts.NOT_JAX_TYPE,
    x=lambda facts: argument_of(facts.call(), 2 if facts["f"].name == "scan" else 1, "xs"),
    numbers=_numbers,
    counted=lambda facts: re.fullmatch(r"(?:(?:list|tuple)\()?range\(([^()]*)\)+", str(facts["x"])),
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
        Swap("Count with an array.", when=probes.is_valued("x", int), x="{jnp}.arange({x})"),
        Swap("Count with an array.", x="{jnp}.arange({counted[1]})"),
        "Leave the number out, and use it from outside the body; if all are numbers, make one array of them.",
    ),
)
