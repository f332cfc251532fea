"""Explain deleted arrays, NaN and infinity, and checks in a program that `checkify.checkify` does not wrap."""

import ast
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import Source, dotted
from jaxguide.code.user_frame import UserFrame, is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.compat import sharding_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import TRANSFORMS, makers

# Arrays that were given away.


def _is_deleted(value: object) -> bool:
    return isinstance(value, jax.Array) and not is_tracer(value) and value.is_deleted()


def _donates(source: Source, call: ast.Call) -> bool:
    """Return whether a call is of a function that is jitted with `donate_argnums` or the like in the same file."""
    made = [one for function in source.functions(called(call)) for one in function.decorator_list]
    assignments = [one for one in ast.walk(source.tree) if isinstance(one, ast.Assign)]
    made += [one.value for one in assignments if dotted(one.targets[0]) == dotted(call.func) != ""]
    return any((one.arg or "").startswith("donate") for call in made for one in getattr(call, "keywords", []))


def _donation(part: Part, spot: UserFrame) -> tuple[Part, Part] | None:
    """Return the last call up to a place that an array, or what holds it, was given away to, and the argument."""
    source, names = part.source, {spot.quote(one) for one in ast.walk(part.node) if isinstance(one, ast.expr)}
    before = [one for one in source.calls() if one.lineno <= spot.line.number and _donates(source, one)]
    found = [
        (call, argument)
        for call in sorted(before, key=lambda one: one.lineno)
        for argument in probes.all_given(call)
        if spot.quote(argument) in names and source.function(call) is spot.function
    ]
    return (part.inside(found[-1][0]), part.inside(found[-1][1])) if found else None


def _gift(facts: Facts) -> tuple[Part, Part, Part] | None:
    """Find a deleted array, the call that it was given away to and the argument, in the frames from the inside out."""
    for spot in reversed(facts.scene.spots):
        for node, value in spot.parts(spot.statement) if spot.source is not None and spot.statement is not None else ():
            given = _donation(facts.at(node, spot), spot) if any(map(_is_deleted, jax.tree.leaves(value))) else None
            while isinstance(node, ast.Subscript):
                node = node.value
            leaves = jax.tree.leaves_with_path(spot.value(node))
            gone = [(path, leaf) for path, leaf in leaves if _is_deleted(leaf)]
            if given is not None and gone:
                return replace(facts.at(node, spot), path=jax.tree_util.keystr(gone[0][0]), held=gone[0][1]), *given
    return None


def _same_arrays(facts: Facts) -> tuple[Part, Part] | None:
    """Find two arguments, or parts of them, that are the same array."""
    seen: dict[int, Part] = {}
    for node in probes.all_given(facts.call()):
        for path, leaf in jax.tree.leaves_with_path(facts.at(node).value_or_missing):
            part = replace(facts.at(node), path=jax.tree_util.keystr(path), held=leaf)
            if is_array(leaf) and id(leaf) in seen:
                return seen[id(leaf)], part
            seen[id(leaf)] = part
    return None


_DELETED: dict[str, Any] = {
    "title": "An array whose memory is gone",
    "link": "https://docs.jax.dev/en/latest/buffer_donation.html",
}
entry(
    "deleted_array",
    texts.DELETED,
    x=lambda facts: facts["gift"][0],
    line="x",
    gift=_gift,
    giver=lambda facts: facts["gift"][1],
    argument=lambda facts: facts["gift"][2],
    function=probes.function_of("giver"),
    what="`{x}` was an array {x.array_type}, and was given away in `{giver}`.",
    why="A donated argument gives its memory to the result, so it cannot be read afterwards.",
    fixes=[
        Either(
            Swap(
                "Give away a copy, and keep this one.",
                when=probes.is_valued("argument", jax.Array),
                argument="{jnp}.copy({argument})",
            ),
            Swap("Give away a copy, and keep this one.", argument="{jax}.tree.map({jnp}.copy, {argument})"),
        ),
        "If the new values are meant, go on with the result of `{function}`, not with what was given.",
        "Or do not donate: the result then has memory of its own.",
    ],
    **_DELETED,
)
entry(
    "deleted_array",
    texts.DELETED,
    x=probes.first(_is_deleted, of="statement"),
    what="`{x}` was an array {x.array_type}.",
    why="Its memory was freed, so it cannot be read.",
    fixes="Find where it was deleted or given away, maybe under another name, to a function with `donate_argnums` or "
    "`donate_argnames`, and go on with what that returned, or give it a copy.",
    **_DELETED,
)
entry(
    "donated_twice",
    sharding_texts.DONATED_TWICE,
    sharding_texts.DONATED_AND_USED,
    x=lambda facts: facts["same"][1],
    same=_same_arrays,
    first=lambda facts: facts["same"][0] if str(facts["same"][0]) != str(facts["x"]) else None,
    title="One array is given twice, and donated",
    what=("`{first}` and `{x}` are the same array in `{call}`.", "`{x}` is given twice in `{call}`."),
    why="A donated argument gives its memory to the result, which can be done only once.",
    fixes=Either(
        Swap("Give a copy the second time.", x="{jnp}.copy({x})"),
        "Make them different arrays: one of them a copy, with `jnp.copy`.",
    ),
    link=_DELETED["link"],
)


# NaN and infinity.


def _numbers(value: Any) -> np.ndarray | None:
    """Return a number or the numbers of an array, if they are known and real."""
    if isinstance(value, int | float):
        return np.asarray(value, np.float32)
    if is_tracer(value) or not is_array(value) or _is_deleted(value):
        return None
    is_here = not isinstance(value, jax.Array) or value.is_fully_addressable
    return np.asarray(value) if is_here and jax.dtypes.issubdtype(value.dtype, np.floating) else None


def _bad(facts: Facts) -> ast.AST | None:
    """Look at a part of an operation that is not finite already."""
    is_bad = np.isnan if facts["g1"] == "nan" else np.isinf
    found: ast.AST | None = probes.first(lambda value: (known := _numbers(value)) is not None and is_bad(known).any())(
        facts
    )
    return found if probes.is_written("node", ast.BinOp, ast.Call, ast.UnaryOp)(facts) else None


def _shown(facts: Facts) -> str | None:
    """Say the numbers, if they are few."""
    value = facts.value("x")
    is_small = isinstance(value, float) or (isinstance(value, jax.Array) and not is_tracer(value) and value.size <= 6)
    return str(value if isinstance(value, float) else np.asarray(value)) if is_small else None


def _is_of_positive(facts: Facts) -> bool:
    """Ask whether the operation is a logarithm or a root."""
    return called(facts.scene.node) in ("log", "sqrt", "log2", "log10")


def _operand(facts: Facts) -> ast.AST:
    """Look at the divisor or the argument of a logarithm, or else at the whole operation."""
    node = facts.scene.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right
    return facts.call().args[0] if _is_of_positive(facts) else node


def _divides_by_zero(facts: Facts) -> bool:
    divisor = _numbers(facts.value("right"))
    is_division = facts.knows("right") and facts.node("operand") is facts.node("right")
    return is_division and (divisor is None or bool((divisor == 0).any()))


def _is_nowhere_positive(facts: Facts) -> bool:
    numbers = _numbers(facts.value("operand")) if _is_of_positive(facts) else None
    return numbers is not None and numbers.size > 1 and not (numbers > 0).any()


def _is_negated(facts: Facts) -> bool:
    """Ask whether the argument is minus something that is never negative, such as `-x**2` or `-jnp.exp(x)`."""
    operand = facts.node("operand")
    inner = operand.operand if isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.USub) else None
    is_even = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow) and facts.scene.quote(inner.right) in "246"
    return _is_of_positive(facts) and (is_even or called(inner) in ("abs", "exp", "sqrt", "square"))


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


_NAN: dict[str, Any] = {
    "word": lambda facts: {"nan": "NaN", "inf": "infinity"}[facts["g1"]],
    "made": lambda facts: {"nan": "a NaN", "inf": "an infinity"}[facts["g1"]],
    "result": lambda facts: {"nan": "not a number", "inf": "too large"}[facts["g1"]],
    "link": "https://docs.jax.dev/en/latest/debugging/flags.html",
}
_FIND = "Find the first one, with its operands: `jaxguide.debug.find_nan`."
entry(
    "not_a_number",
    texts.NAN,
    x=_bad,
    when=lambda facts: str(facts["x"]).endswith((".inf", ".nan")),
    title="This line writes `{x}` itself",
    what="",
    why="`jax_debug_{g1}s` stops at every {word}, also at one that is meant.",
    fixes="If it is meant, switch `jax_debug_{g1}s` off for this line, or take a large finite number.",
    **_NAN,
)
entry(
    "not_a_number",
    texts.NAN,
    x=_bad,
    title="`{x}` already holds {word}",
    why="What is computed from {word} is mostly {word} again, and this is only the first result that JAX checks.",
    fixes="Find where `{x}` gets it: from what was read, or on a line before this one.",
    **_NAN,
)
entry(
    "not_a_number",
    texts.NAN,
    x=probes.one_of(probes.first(lambda value: is_array(value) or isinstance(value, float), of="operand"), probes.node),
    operand=_operand,
    shown=_shown,
    differentiated=_differentiated,
    code=lambda facts: facts["differentiated"].line.text(),
    root=_root,
    title="`{g2}` made {made}",
    what=(
        "It happened in the derivative of line {differentiated.line.number}: `{code}`.",
        "`{x}` is {shown} here.",
        "{x.is_here}",
        "",
    ),
    why="For this input the result is {result}; `jax_debug_{g1}s` stops at the first place where that happens.",
    fixes=[
        Either(
            Swap(
                "If the divisor may be 0, and the result is 0 then, choose a safe divisor first: so gradients stay "
                "finite too.",
                when=_divides_by_zero,
                node="{jnp}.where({right} == 0, 0.0, {left.atom} / {jnp}.where({right} == 0, 1.0, {right}))",
            ),
            Words(
                "Look at the argument, and its sign: no value of `{operand}` is > 0 here.", when=_is_nowhere_positive
            ),
            Words("Look at the sign: `{operand}` is never > 0.", when=_is_negated),
            Swap(
                "If the input may lie outside the domain, and the result is 0 then, make the input safe first.",
                when=_is_of_positive,
                node="{jnp}.where({operand} > 0, {f}({jnp}.where({operand} > 0, {operand}, 1.0)), 0.0)",
            ),
            "`{root}` has no finite slope at 0: where its input is 0, give it another one with `{jnp}.where` before "
            "the call; to select the result alone does not help.",
        ),
        Either(
            Code(_FIND, "find_nan({f}, {given})", when=probes.is_written("f", ast.Call)),
            Code(_FIND, "find_nan(f, *args)"),
        ),
    ],
    **_NAN,
)


# Devices, compiled programs and checks.

entry(
    "no_backend",
    structure_texts.NO_BACKEND,
    x=probes.call,
    when=probes.unless(probes.in_library),
    only=lambda facts: (
        facts.call().args[0] if len(probes.all_given(facts.call())) == len(facts.call().args) == 1 else None
    ),
    found=lambda facts: (facts.found[2] or facts.found[3]).strip().replace("'", ""),
    title="JAX finds no `{g1}` here",
    what="This JAX finds: {found}.",
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
        Words("For a TPU, install `jax[tpu]` on a machine that has one.", when=lambda facts: facts["g1"] == "tpu"),
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
    checked=probes.words("checkify.checkify({f})({given})"),
    title="A check that is never carried out",
    what="`{x}` has a `checkify.check` in it.",
    why="A compiled program cannot raise: `checkify.checkify` makes the error a result, which is raised outside.",
    fixes=Code(
        "Wrap the function, and raise what it found.",
        ("error, {target} = {checked}\nerror.throw()", "error, _ = {checked}\nerror.throw()"),
    ),
    link="https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
)
