"""Explain sizes that are computed: from shapes with `jax.numpy`, from values, with `/`, or given as an array."""

import ast
import re
from types import ModuleType
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import arguments_of, dotted
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.static_arguments import given_for, jitted_by, size_arguments, static_edits
from jaxguide.explain.scene import Scene, called, is_traced_integer

# Functions whose first size is explained here if it is computed from values.
_WITH_SIZE = (
    *("one_hot", "segment_sum", "segment_max", "segment_min", "repeat"),
    *("eye", "arange", "zeros", "ones", "full", "linspace"),
)
_LATER = "How long the result is depends on the values, and JAX must know every shape while it records."


def _is_no_truth(facts: Facts) -> bool:
    return not isinstance(facts.scene.error, jax.errors.TracerBoolConversionError)


# Sizes that are not integers.


def _sizes(facts: Facts) -> list[ast.expr]:
    """Return the sizes that a call is given: its arguments, or what they write out."""
    given = size_arguments(facts.call())
    return [size for one in given for size in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]


def _floats(facts: Facts) -> list[ast.expr] | None:
    """Return the sizes that are floats, or tuples of floats."""
    spot = facts.scene.spot
    return [one for one in _sizes(facts) if _divides(one) or _is_float(spot.value(one))] or None


def _divides(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _is_float(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_is_float, value))
    of_array = is_array(value) and not is_tracer(value) and value.ndim == 0 and value.dtype.kind == "f"
    return of_array or isinstance(value, float)


def _made_whole(facts: Facts) -> Fix | None:
    """Return the fix that makes integers of all sizes: `3` of `3.0`, `n // 2` of `n / 2`."""
    scene = facts.scene
    edits = []
    for node in facts["floats"]:
        text = f"int({scene.quote(node)})"
        if isinstance(node, ast.BinOp) and _divides(node):
            text = f"{scene.atom(node.left)} // {scene.atom(node.right)}"
        elif isinstance(scene.spot.value(node), tuple | list):
            text = f"tuple(int(n) for n in {scene.quote(node)})"
        edits.append(scene.source.replace(node, text))
    return scene.fix("Give an integer.", *edits)


for _phrase, _when in (
    (texts.SHAPE, lambda facts: "Tracer" not in facts["entries"]),
    (structure_texts.FLOAT_AS_INTEGER, probes.calls_of("jax")),
):
    entry(
        "shape_of_floats",
        _phrase,
        floats=_floats,
        x=lambda facts: facts["floats"][0],
        when=_when,
        title="`{f}` was given a size that is not an integer",
        what="The shape is ({entries}) here." if _phrase is texts.SHAPE else "`{x}` is a float here.",
        why="A size is counted, so it is an integer; `/` gives a float, even of two integers.",
        fixes=[_made_whole],
        link=f"{texts.API}/jax.numpy.zeros.html",
    )


# Known numbers that `jax.numpy` makes traced ones.


def with_numpy(scene: Scene, node: ast.AST) -> str | None:
    """Return an expression of known numbers with NumPy in place of `jax.numpy`; None if that is not possible."""
    text, own = scene.quote(node), rf"(?<![\w.]){re.escape(scene.jnp)}\."
    functions = re.findall(own + r"(\w+)", text)
    there = bool(functions) and all(hasattr(np, name) for name in functions)
    return re.sub(own, f"{scene.np}.", text) if there and _is_known(scene, node) else None


def _is_known(scene: Scene, node: ast.AST) -> bool:
    """Return whether an expression uses nothing but functions of JAX, shapes, and numbers that are not traced."""
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim", "size"):
        return True
    if isinstance(node, ast.Call) and dotted(node.func) == "len":
        return True
    value = scene.spot.value(node)
    if isinstance(value, type | np.dtype):
        return True
    if value is not MISSING and not isinstance(value, ModuleType):
        of_jax = str(getattr(value, "__module__", "")).startswith(("jax", "numpy")) and callable(value)
        plain = not is_array(value) and all(isinstance(one, int | float) for one in jax.tree.leaves(value))
        return of_jax or (plain and not callable(value))
    parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr | ast.keyword)]
    return isinstance(value, ModuleType) or (bool(parts) and all(_is_known(scene, one) for one in parts))


def _known_size(facts: Facts) -> ast.expr | None:
    """Look at the size that `jax.numpy` computed of known numbers, if nothing else may be unknown."""
    found = [one for one in _sizes(facts) if with_numpy(facts.scene, one) is not None]
    held = [value for one in probes.all_given(facts.call()) for _part, value in facts.scene.spot.parts(one)]
    others = [one for one in held if is_tracer(one) and (one.ndim == 0 or _is_integral(one))]
    return found[0] if found and not others else None


def _is_integral(value: Any) -> bool:
    """Return whether an array is of integers."""
    return bool(jax.dtypes.issubdtype(value.dtype, np.integer))


entry(
    "size_from_a_shape",
    texts.SHAPE,
    texts.CONCRETE,
    x=_known_size,
    when=_is_no_truth,
    numpy=lambda facts: with_numpy(facts.scene, facts.node("x")),
    title="A known number is traced, because `{jnp}` computed it",
    what="`{x}` uses only numbers that are known here, such as a shape.",
    why="Inside a transformation, `{jnp}` records what it computes, so even a known number becomes a traced one.",
    fixes=[
        Either(
            Swap(
                "Compute with NumPy, which stays outside the program.",
                when=probes.calls("int", "float", "complex"),
                x="{numpy}",
            ),
            Swap("Compute with NumPy, which stays outside the program.", x="int({numpy})"),
        )
    ],
    link=texts.STATIC_LINK,
)


# Sizes that depend on values.


def _computed_size(facts: Facts) -> ast.expr | None:
    """Look at a size that is computed from values: `y.max() + 1`, or an array of counts."""
    size, spot = next(iter(size_arguments(facts.call())), None), facts.scene.spot
    traced = facts.scene.tracer(size) if size is not None else None
    if traced is None or isinstance(size, ast.Tuple | ast.List) or is_traced_integer(spot.value(size)):
        return None
    given = any(value is traced[1] for value in spot.frame.f_locals.values())
    return size if traced[1].ndim or (isinstance(size, ast.Call | ast.BinOp) and not given) else None


entry(
    "size_from_values",
    texts.CONCRETE,
    x=probes.argument(1, "segment_ids"),
    when=[probes.calls("segment_sum", "segment_max", "segment_min"), lambda facts: not facts.knows("number")],
    number=probes.argument(2, "num_segments"),
    title="`{f}` has a result whose size is not known",
    what="`num_segments` is not given, so it is one more than the largest of `{x}`.",
    why=_LATER,
    fixes=["Give the number of segments, as a Python number: `num_segments=SEGMENTS`."],
    link=texts.STATIC_LINK,
)
entry(
    "size_from_values",
    texts.SHAPE,
    texts.CONCRETE,
    x=_computed_size,
    when=[_is_no_truth, probes.calls_of("jax"), lambda facts: called(facts.call()) in _WITH_SIZE],
    part=probes.first(is_tracer, of="x"),
    title="`{f}` needs a known size, but `{x}` is traced",
    what="{part.is_here}",
    why=_LATER,
    fixes=[
        Either(
            Words(
                "Give the length of the result, which must not depend on values: `total_repeat_length=LENGTH`.",
                when=probes.calls("repeat"),
            ),
            "Give it as a Python number that does not depend on values, such as a static argument.",
        )
    ],
    link=texts.STATIC_LINK,
)


# Shapes as arguments of a jitted function.


def _shape_argument(facts: Facts) -> ast.expr | None:
    """Look at an array or a tuple of traced numbers that is given as a shape."""
    call = facts.call()
    given = probes.all_given(call)[0 if facts.knows("owner") or called(call) in _WITH_SIZE else 1 :]
    parts = [part for one in given for part in facts.scene.spot.parts(one) if isinstance(part[0], ast.Name)]
    return next((node for node, value in parts if _is_traced_shape(value)), None)


def _is_traced_shape(value: Any) -> bool:
    if is_tracer(value):
        return bool(value.ndim == 1 and _is_integral(value))
    return isinstance(value, tuple) and bool(value) and all(map(is_traced_integer, value))


def _static_shape(facts: Facts) -> Fix | None:
    """Return the fix that makes the shape a static argument, and gives it as a tuple where the function is called."""
    name, scene = str(facts["x"]), facts.scene
    place = jitted_by(scene, jax.tree.leaves(facts["x"].value)[0])
    given = given_for(scene, place[1], name) if place is not None and name in arguments_of(place[1]) else None
    if place is None or given is None:
        return None
    spot, node = given
    edits = [] if isinstance(spot.value(node), tuple) else [None]
    made = node.args[0] if isinstance(node, ast.Call) and called(node) in ("array", "asarray") else node
    if spot.source is not None and isinstance(made, ast.List | ast.Tuple) and len(made.elts) > 1:
        inside = ", ".join(map(spot.source.quote, made.elts))
        edits = [spot.source.replace(node, f"({inside})")]  # type: ignore[list-item]
    static = static_edits(scene, *place, name)
    sentence = f"Make `{name}` static, and give a tuple of Python numbers."
    return scene.fix(sentence, *static, *edits) if static else None


entry(
    "shape_argument",
    texts.SHAPE,
    x=_shape_argument,
    title="`{f}` needs a known shape, but `{x}` is traced",
    array=lambda facts: facts["x"] if is_array(facts["x"].value) else None,
    what=("{array.is_here}", "`{x}` is a tuple of traced numbers here."),
    why="JAX must know every shape while it records the program, and the numbers in `{x}` come later.",
    fixes=[_static_shape],
    otherwise=["Give the shape as a static argument: a tuple of Python numbers."],
    link=texts.STATIC_LINK,
)
