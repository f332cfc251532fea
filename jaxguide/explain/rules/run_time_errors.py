"""Explain deleted arrays, NaN and infinity, and checks in a program that `checkify.checkify` does not wrap."""

import ast
import itertools
import re
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import UserFrame, is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.compat import sharding_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import TRANSFORMS, makers


def _is_deleted(value: object) -> bool:
    return isinstance(value, jax.Array) and not is_tracer(value) and value.is_deleted()


def _donates(spot: UserFrame, call: ast.Call) -> bool:
    """Return whether a call up to a place is of a function that is jitted with `donate_argnums` or the like."""
    source: Any = spot.source
    made = [one for function in source.functions(called(call)) for one in function.decorator_list]
    assignments = [one for one in ast.walk(source.tree) if isinstance(one, ast.Assign)]
    made += [one.value for one in assignments if dotted(one.targets[0]) == dotted(call.func) != ""]
    donated = any((one.arg or "").startswith("donate") for call in made for one in getattr(call, "keywords", []))
    return donated and call.lineno <= spot.line.number and source.function(call) is spot.function


def _gift(facts: Facts) -> tuple[Part, Part, Part] | None:
    """Find a deleted array, the call that it was given away to and the argument, in the frames from the inside out."""
    for spot in reversed(facts.scene.spots):
        for node, value in spot.parts(spot.statement) if spot.source is not None and spot.statement is not None else ():
            part, names = facts.at(node, spot), {spot.quote(one) for one in ast.walk(node) if isinstance(one, ast.expr)}
            calls = [call for call in part.source.calls() if _donates(spot, call)]
            given = [(call, one) for call in calls for one in probes.all_given(call) if spot.quote(one) in names]
            if given and any(map(_is_deleted, jax.tree.leaves(value))):
                while isinstance(node, ast.Subscript):
                    node = node.value
                leaves = jax.tree.leaves_with_path(spot.value(node))
                path, leaf = next(found for found in leaves if _is_deleted(found[1]))
                call, argument = max(given, key=lambda one: one[0].lineno)
                array = replace(part, node=node, path=jax.tree_util.keystr(path), held=leaf)
                return array, part.inside(call), part.inside(argument)
    return None


def _same_arrays(facts: Facts) -> tuple[Part, Part] | None:
    """Find two arguments, or parts of them, that are the same array."""
    given = [facts.at(node) for node in probes.all_given(facts.call())]
    leaves = [(one, *leaf) for one in given for leaf in jax.tree.leaves_with_path(one.value_or_missing)]
    parts = [replace(one, path=jax.tree_util.keystr(path), held=leaf) for one, path, leaf in leaves if is_array(leaf)]
    return next((pair for pair in itertools.combinations(parts, 2) if pair[0].held is pair[1].held), None)


_DONATION = "https://docs.jax.dev/en/latest/buffer_donation.html"
_COPY_OF_TREE = "{jax}.tree.map({jnp}.copy, {argument})"
entry(
    "deleted_array",
    texts.DELETED,
    x=probes.one_of(lambda facts: facts["gift"][0], probes.first(_is_deleted, of="statement")),
    line="x",
    gift=_gift,
    giver=lambda facts: facts["gift"][1],
    argument=lambda facts: facts["gift"][2],
    copied=lambda facts: facts.say("{jnp}.copy({argument})" if facts["x"].path == "" else _COPY_OF_TREE),
    function=probes.function_of("giver"),
    title="An array whose memory is gone",
    what=("`{x}` was an array {x.array_type}, and was given away in `{giver}`.", "`{x}` was an array {x.array_type}."),
    why="A donated argument gives its memory to the result, so it cannot be read afterwards.",
    fixes=[
        Swap("Give away a copy, and keep this one.", argument="{copied}"),
        "If the new values are meant, go on with the result of `{function}`, not with what was given.",
        Words("Or do not donate: the result then has memory of its own.", when=probes.knows("giver")),
    ],
    otherwise="Find where it was deleted or given away, maybe under another name, to a function with `donate_argnums` "
    "or `donate_argnames`, and go on with what that returned, or give it a copy.",
    link=_DONATION,
)
entry(
    "donated_twice",
    sharding_texts.DONATED_TWICE,
    x=lambda facts: facts["same"][1],
    same=_same_arrays,
    title="One array is given twice, and donated",
    what="`{same[0]}` and `{x}` are the same array in `{call}`.",
    why="A donated argument gives its memory to the result, which can be done only once.",
    fixes=Either(
        Swap("Give a copy the second time.", x="{jnp}.copy({x})"),
        "Make them different arrays: one of them a copy, with `jnp.copy`.",
    ),
    link=_DONATION,
)


def _numbers(value: Any) -> np.ndarray:
    """Return the real numbers that a number or an array holds; none if they are not known."""
    is_known = is_array(value) and not is_tracer(value) and not _is_deleted(value)
    is_real = isinstance(value, int | float) or (is_known and jax.dtypes.issubdtype(value.dtype, np.floating))
    return np.asarray(value if is_real else (), float)


def _bad(facts: Facts) -> ast.AST | None:
    """Look at a part of an operation that is not finite already."""
    is_bad = np.isnan if facts["g1"] == "nan" else np.isinf
    found = probes.first(lambda value: is_bad(_numbers(value)).any())
    return found(facts) if probes.is_written("node", ast.BinOp, ast.Call, ast.UnaryOp)(facts) else None


def _shown(facts: Facts) -> str | None:
    """Say the numbers, if they are few."""
    value = facts.value("x")
    is_small = isinstance(value, float) or (isinstance(value, jax.Array) and not is_tracer(value) and value.size <= 6)
    return str(np.asarray(value)) if is_small else None


_takes_positive = probes.calls("log", "sqrt", "log2", "log10")


def _operand(facts: Facts) -> ast.AST:
    """Look at the divisor or the argument of a logarithm, or else at the whole operation."""
    node = facts.scene.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right
    return node.args[0] if isinstance(node, ast.Call) and _takes_positive(facts) else node


def _divides_by_zero(facts: Facts) -> bool:
    divisor = _numbers(facts.value("operand"))
    return facts.node("operand") is facts.node("right") and (divisor.size == 0 or bool((divisor == 0).any()))


def _is_negated(facts: Facts) -> bool:
    """Ask whether the argument is minus something that is never negative, such as `-x**2` or `-jnp.exp(x)`."""
    never_positive = r"-(\w+\.)*(abs|exp|sqrt|square)\([^()]*\)|-\w+ ?\*\* ?[246]"
    return _takes_positive(facts) and re.fullmatch(never_positive, str(facts["operand"])) is not None


def _differentiated(facts: Facts) -> UserFrame | None:
    """Find the frame of the line whose derivative failed: JAX keeps that traceback as the cause."""
    cause = facts.scene.error.__cause__
    if cause is None or not any(called(made) in TRANSFORMS for made in makers(facts.scene, facts.call())):
        return None
    inner = next(reversed(Scene(cause).spots), None)
    return inner if inner is not None and inner.source is not None and inner.line != facts.scene.spot.line else None


def _root(facts: Facts) -> str | None:
    """Say the function of a square root or a norm on that line, whose slope at 0 is not finite."""
    source, number = facts["differentiated"].source, facts["differentiated"].line.number
    calls = [one for one in source.calls() if one.lineno <= number <= (one.end_lineno or 0)]
    return next((source.quote(one.func) for one in calls if called(one) in ("sqrt", "norm")), None)


_nan = partial(
    entry,
    word=lambda facts: {"nan": "NaN", "inf": "infinity"}[facts["g1"]],
    link="https://docs.jax.dev/en/latest/debugging/flags.html",
)
_nan(
    "not_a_number",
    texts.NAN,
    x=_bad,
    title="`{x}` already holds {word}",
    why="What is computed from {word} is mostly {word} again, and this is only the first result that JAX checks.",
    fixes=Either(
        Words(
            "If it is meant, switch `jax_debug_{g1}s` off for this line, or take a large finite number.",
            when=lambda facts: str(facts["x"]).endswith((".inf", ".nan")),
        ),
        "Find where `{x}` gets it: from what was read, or on a line before this one.",
    ),
)
_nan(
    "not_a_number",
    texts.NAN,
    x=probes.one_of(probes.first(lambda value: is_array(value) or isinstance(value, float), of="operand"), probes.node),
    operand=_operand,
    shown=_shown,
    differentiated=_differentiated,
    root=_root,
    made=lambda facts: {"nan": "a NaN", "inf": "an infinity"}[facts["g1"]],
    result=lambda facts: {"nan": "not a number", "inf": "too large"}[facts["g1"]],
    title="`{g2}` made {made}",
    what=(
        "It happened in the derivative of line {differentiated.line.number}: `{code}`.",
        "`{x}` is {shown} here.",
        "{x.is_here}",
        "",
    ),
    code=lambda facts: facts["differentiated"].line.text(),
    why="For this input the result is {result}; `jax_debug_{g1}s` stops at the first place where that happens.",
    fixes=[
        Either(
            Swap(
                "If the divisor may be 0, and the result is 0 then, choose a safe divisor first: so gradients stay "
                "finite too.",
                when=_divides_by_zero,
                node="{jnp}.where({right} == 0, 0.0, {left.atom} / {jnp}.where({right} == 0, 1.0, {right}))",
            ),
            Words("Look at the sign: `{operand}` is never > 0.", when=_is_negated),
            Swap(
                "If the input may lie outside the domain, and the result is 0 then, make the input safe first.",
                when=_takes_positive,
                node="{jnp}.where({operand} > 0, {f}({jnp}.where({operand} > 0, {operand}, 1.0)), 0.0)",
            ),
            "`{root}` has no finite slope at 0: where its input is 0, give it another one with `{jnp}.where` before "
            "the call; to select the result alone does not help.",
        ),
        Code("Find the first one, with its operands: `jaxguide.debug.find_nan`.", "find_nan(f, *args)"),
    ],
)
entry(
    "no_backend",
    structure_texts.NO_BACKEND,
    x=probes.call,
    when=probes.unless(probes.in_library),
    only=probes.argument(0),
    title="JAX finds no `{g1}` here",
    what=("This JAX finds: {g2}.", "This JAX finds: {g3}."),
    why="A plain JAX computes on the CPU; accelerators need a plugin that fits them, and a driver.",
    fixes=[
        Swap(
            "Take the devices that are there: its default comes first.",
            when=probes.calls("devices", "local_devices", "device_count", "local_device_count"),
            only="",
        ),
        Words(
            "For a GPU of NVIDIA, install `jax[cuda13]` or `jax[cuda12]`, as its driver asks.",
            when=lambda facts: facts["g1"] in ("gpu", "cuda"),
        ),
    ],
    link="https://docs.jax.dev/en/latest/installation.html",
)
entry(
    "compiled_for_other_types",
    structure_texts.COMPILED_TYPES,
    x=probes.function,
    said=probes.said(structure_texts.COMPILED_TYPE),
    variable="{said[1]}",
    title="A compiled program was given an array of another type",
    what="`{said[1]}` is {said[3]}, and `{x}` was compiled for {said[2]}.",
    why="What `.compile()` returns is one program for one shape and dtype, and compiles no other.",
    fixes=[
        "Call the jitted function instead: it compiles again for other types.",
        "Or compile one program for each type: `f.lower(x).compile()`.",
    ],
    link="https://docs.jax.dev/en/latest/aot.html",
)
entry(
    "check_not_wrapped",
    texts.CHECKIFY,
    x=probes.function,
    title="A check that is never carried out",
    what="`{x}` has a `checkify.check` in it.",
    why="A compiled program cannot raise: `checkify.checkify` makes the error a result, which is raised outside.",
    fixes=Code(
        "Wrap the function, and raise what it found.",
        "error, result = checkify.checkify({f})({given})\nerror.throw()",
    ),
    link="https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
)
