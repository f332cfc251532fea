"""Explain `lax.cond` and `lax.switch`: branches that differ or are not functions, conditions that are not scalars."""

import ast
import re
from typing import Any

import jax.numpy as jnp

from jaxguide.code.source import arguments_of, source_of
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, Probe, known
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import part_of

_COND = f"{texts.API}/jax.lax.cond.html"
_SAME_PARTS = "The program goes on with one result, whichever branch ran, so both return the same parts."


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


_COMPARED: dict[str, Any] = {
    "first": _branch(0),
    "second": _branch(1),
    "one": probes.result_of("first"),
    "other": probes.result_of("second"),
    "link": _COND,
}


# Results that differ.


def _wanted(facts: Facts) -> str | None:
    """Say the dtype to which JAX promotes the two that the branches return."""
    one, other = facts["said"]["dtype"], facts["said"]["other_dtype"]
    return None if "key<" in one + other else str(jnp.promote_types(one, other))


def _leaf(facts: Facts) -> Part:
    """Look at the part of a result to change: the one of the narrower dtype, or else the scalar."""
    said = facts["said"]
    is_second = said["shape"] if said["dtype"] == said["other_dtype"] else said["other_dtype"] != facts["wanted"]
    name = "other" if is_second else "one"
    return facts.part(name).inside(known(part_of(facts.node(name), facts["path"])))


def _is_one_dtype(facts: Facts) -> bool:
    """Ask whether two branches differ in one dtype alone."""
    is_single = len(texts.BRANCH_TYPES.findall(facts.scene.message)) == 1 and len(_branches(facts)) == 2
    return is_single and facts["said"]["shape"] == facts["said"]["other_shape"]


entry(
    "branch_types",
    texts.BRANCH_TYPE,
    x=probes.one_of(_leaf, probes.words("{branch}{path}")),
    # If dtypes and shapes are equal, the axes of a mesh differ: `shardings.py`.
    when=lambda facts: facts["said"].group("dtype", "shape") != facts["said"].group("other_dtype", "other_shape"),
    said=probes.said(texts.BRANCH_TYPES),
    branch=lambda facts: re.sub("branch ?", "branch ", facts["said"]["one"]),
    other_branch=lambda facts: re.sub("branch ?", "branch ", facts["said"]["other"]),
    path=lambda facts: facts["said"]["path"] or "",
    wanted=_wanted,
    leaf=_leaf,
    title="Branches with results of different types",
    what=(
        "`{branch}{path}` gives `{said[dtype]}[{said[shape]}]`, `{other_branch}{path}` gives "
        "`{said[other_dtype]}[{said[other_shape]}]`."
    ),
    why="The program goes on with one result, whichever branch ran, so both have the same shape and dtype.",
    fixes=Either(
        Swap(
            "Give both one dtype: say it where the other one comes from.",
            when=_is_one_dtype,
            leaf="{jnp}.asarray({leaf}, {jnp}.{wanted})",
        ),
        Words("Give both one dtype.", when=lambda facts: facts["said"]["shape"] == facts["said"]["other_shape"]),
        "Give both one shape: pad or reduce one of them.",
    ),
    **_COMPARED,
)
entry(
    "branch_returns_none",
    texts.BRANCH_STRUCTURE,
    x=lambda facts: next((facts[one] for one in ("first", "second") if probes.returns_nothing(one)(facts)), None),
    variable="{x.name}",
    title="A branch without `return`",
    what="`{x.name}` returns None, and the other branch does not.",
    why=_SAME_PARTS,
    fixes="End it with `return`, and what the other branch returns, changed or not.",
    **_COMPARED,
)
entry(
    "branch_structure",
    texts.BRANCH_STRUCTURE,
    x=lambda facts: facts["other" if isinstance(facts.node("one"), ast.Tuple) else "one"],
    keys=probes.said(texts.CARRY_KEYS),
    title="Branches that return different parts",
    what="One branch returns `{one}`, the other `{other}`.",
    why=_SAME_PARTS,
    fixes=Either(
        "Return {keys[1]} from both branches, or from none.",
        "Return as many parts from both, in the same kind of container: a list is not a tuple, and "
        "`{jnp}.zeros_like` makes something that fits for what is missing.",
    ),
    **_COMPARED,
)


# What is given.


def _values(facts: Facts) -> list[ast.expr]:
    """Return the branches that are no functions."""
    given = _branches(facts)
    return [one for one in given if not isinstance(one, ast.Lambda) and not callable(facts.scene.spot.value(one))]


entry(
    "branch_no_function",
    texts.COND_NOT_CALLABLE,
    x=lambda facts: next(iter(_values(facts)), None),
    other=lambda facts: dict(enumerate(_values(facts))).get(1),
    test=probes.argument(0),
    title="A branch that is not a function",
    what="`{x}` is a value, computed before `lax.cond` is asked.",
    why="`lax.cond` runs one of two functions; a value is computed already, whichever is chosen.",
    fixes=Swap("With both values at hand, choose.", call="{jnp}.where({test}, {x}, {other})"),
    otherwise="Give a function in its place, which takes the operands.",
    link=_COND,
)
entry(
    "switch_index",
    structure_texts.SWITCH_INDEX,
    x=probes.argument(0),
    when=probes.calls("switch"),
    title="`lax.switch` was given an index that is not an integer",
    what="`{x}` has dtype {g1} here.",
    why="The branches are numbered from 0, and the index is the number of one.",
    fixes=Swap("Make it an integer.", x="{jnp}.asarray({x}, int)"),
    link=f"{texts.API}/jax.lax.switch.html",
)
entry(
    "condition_with_axes",
    texts.COND_PREDICATE,
    x=probes.argument(0),
    when=probes.calls("cond"),
    title="A condition with axes",
    what="`{x}` has shape {g1}.",
    why="`lax.cond` makes one choice, so its condition is one bool, of shape ().",
    fixes="Make one truth value of it, with `jnp.all` or `jnp.any`; or choose elementwise, with `jnp.where`.",
    link=_COND,
)
entry(
    "operands_missing",
    texts.COND_OPERANDS,
    x=probes.definition(probes.argument(1)),
    when=[probes.calls("cond"), lambda facts: len(facts.call().args) == 3 and not facts.call().keywords],
    names=lambda facts: ", ".join(arguments_of(facts.node("x"))),
    variable="{g3}",
    title="The branches are given no operand",
    what="`{g1}` takes `{names}`, and nothing follows the branches.",
    why="`lax.cond` calls the branch that it takes with the operands that come after the branches.",
    fixes=Code("Give the operands after the branches.", "{f}({given}, {names})"),
    link=_COND,
)
