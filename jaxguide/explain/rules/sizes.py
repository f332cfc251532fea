"""Explain sizes that JAX must know while it traces: shapes, counts, axes, results whose size depends on values."""

import ast
import re
from functools import partial
from types import ModuleType
from typing import Any

import jax
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.source import arguments_of
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, known
from jaxguide.explain.rewrites.static_arguments import given_for, jitted_by, size_arguments, static_edits, static_fix
from jaxguide.explain.scene import Scene, called, is_traced_integer
from jaxguide.explain.transformed import set_to

# Functions whose first size is explained here if it is computed from values.
_WITH_SIZE = (
    *("one_hot", "segment_sum", "segment_max", "segment_min", "repeat"),
    *("eye", "arange", "zeros", "ones", "full", "linspace"),
)


def _sizes(facts: Facts) -> list[ast.expr]:
    """Return the sizes that a call is given: its arguments, or what they write out."""
    given = size_arguments(facts.call())
    return [size for one in given for size in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]


def _is_float(facts: Facts, node: ast.expr) -> bool:
    """Return whether a size is a quotient or another float, or a tuple with one."""
    if isinstance(getattr(node, "op", None), ast.Div):
        return facts.scene.tracer(node) is None
    leaves = jax.tree.leaves(facts.scene.spot.value(node))
    arrays = [one for one in leaves if is_array(one) and not is_tracer(one) and one.ndim == 0]
    return any(isinstance(one, float) for one in leaves) or any(one.dtype.kind == "f" for one in arrays)


entry(
    "shape_of_floats",
    texts.SHAPE,
    structure_texts.FLOAT_AS_INTEGER,
    x=lambda facts: next((one for one in _sizes(facts) if _is_float(facts, one)), None),
    when=lambda facts: facts.knows("entries") or probes.calls_of("jax")(facts),
    entries=lambda facts: None,  # only the first phrase says them
    page=lambda facts: facts["f"].name if hasattr(jax.numpy, facts["f"].name) else "zeros",
    one=lambda facts: getattr(facts.node("x"), "left", None),
    other=lambda facts: getattr(facts.node("x"), "right", None),
    title="`{f}` was given a size that is not an integer",
    what=("The shape is ({entries}) here.", "`{x}` is a float here."),
    why="A size must be an integer; `/` gives a float, even of two integers.",
    fixes=Either(
        Swap(
            "Give an integer.",
            when=lambda facts: isinstance(getattr(facts.node("x"), "op", None), ast.Div),
            x="{one.atom} // {other.atom}",
        ),
        Swap("Give an integer.", when=probes.unless(probes.is_valued("x", tuple, list)), x="int({x})"),
        "Give integers.",
    ),
    link=f"{texts.API}/jax.numpy.{{page}}.html",
)


# Known numbers that `jax.numpy` makes traced ones.


def _with_numpy(scene: Scene, node: ast.AST) -> str | None:
    """Return an expression of known numbers with NumPy in place of `jax.numpy`; None if that is not possible."""
    text, own = scene.quote(node), rf"(?<![\w.]){re.escape(scene.jnp)}\."
    functions = re.findall(own + r"(\w+)", text)
    there = bool(functions) and all(hasattr(np, name) for name in functions)
    return re.sub(own, f"{scene.np}.", text) if there and _is_known(scene, node) else None


def _is_known(scene: Scene, node: ast.AST) -> bool:
    """Return whether an expression uses nothing but functions of modules, shapes, and numbers that are not traced."""
    if getattr(node, "attr", "") in ("shape", "ndim", "size") or called(node) == "len":
        return True
    leaves = jax.tree.leaves(scene.spot.value(node))
    if all(isinstance(one, int | float | np.number | type | ModuleType) for one in leaves):
        return True
    parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr | ast.keyword)]
    return bool(parts) and all(_is_known(scene, one) for one in parts)


_size = partial(entry, link=texts.STATIC_LINK)
_size(
    "size_from_a_shape",
    texts.SHAPE,
    texts.CONCRETE,
    x=lambda facts: next((one for one in _sizes(facts) if _with_numpy(facts.scene, one) is not None), None),
    text=lambda facts: _with_numpy(facts.scene, facts.node("x")),
    numpy=lambda facts: facts["text"] if probes.calls("int", "float", "complex")(facts) else f"int({facts['text']})",
    title="A known number is traced, because `{jnp}` computed it",
    what="`{x}` uses only numbers that are known here, such as a shape.",
    why="Inside a transformation, `{jnp}` records what it computes, so even a known number becomes a traced one.",
    fixes=Swap("Compute with NumPy, which stays outside the program.", x="{numpy}"),
)
_size(
    "size_from_values",
    texts.SHAPE,
    texts.CONCRETE,
    size=lambda facts: next(iter(size_arguments(facts.call())), None),
    part=probes.first(is_tracer, of="size"),
    x=lambda facts: facts["size"] if facts["part"].ndim else None,
    when=[probes.calls_of("jax"), probes.calls(*_WITH_SIZE)],
    title="`{f}` needs a known size, but `{x}` is traced",
    what="{part.is_here}",
    why="How long the result is depends on the values, and JAX must know every shape while it records.",
    fixes="Give it as a Python number that does not depend on values, such as a static argument.",
)


# Shapes as arguments of a jitted function.


def _shape_argument(facts: Facts) -> ast.expr | None:
    """Look at an array or a tuple of traced numbers that is given as a shape."""
    is_first = facts.knows("owner") or called(facts.call()) in _WITH_SIZE
    given = probes.all_given(facts.call())[0 if is_first else 1 :]
    parts = [part for one in given for part in facts.scene.spot.parts(one)]
    return next((node for node, value in parts if _is_traced_shape(value)), None)


def _is_traced_shape(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(is_traced_integer, value))
    return is_tracer(value) and value.ndim == 1 and value.dtype.kind in "iu"


def _static_shape(facts: Facts) -> Fix | None:
    """Return the fix that makes the shape a static argument, and gives it as a tuple where the function is called."""
    name, scene = str(facts["x"]), facts.scene
    place = known(jitted_by(scene, jax.tree.leaves(facts["x"].value)[0]))
    spot, node = known(given_for(scene, place[1], name) if name in arguments_of(place[1]) else None)
    edits: list[Edit | None] = [*known(static_edits(scene, *place, name) or None)]
    made = node.args[0] if isinstance(node, ast.Call) and called(node) in ("array", "asarray") else node
    if not isinstance(spot.value(node), tuple):
        is_written = isinstance(made, ast.List | ast.Tuple) and len(made.elts) > 1
        edits.append(known(spot.source).replace(node, f"({spot.quote(made)[1:-1]})") if is_written else None)
    return scene.fix(f"Make `{name}` static, and give a tuple of Python numbers.", *edits)


_size(
    "shape_argument",
    texts.SHAPE,
    x=_shape_argument,
    title="`{f}` needs a known shape, but `{x}` is traced",
    why="JAX must know every shape while it records the program, and the numbers in `{x}` come later.",
    fixes=_static_shape,
    otherwise="Give the shape as a static argument: a tuple of Python numbers.",
)


# Results whose size depends on values, and sizes that are traced.

# Functions whose result has a length that depends on values.
_SIZED = ("nonzero", "flatnonzero", "argwhere", "where", "unique", "bincount")

# Functions whose last argument, given by position, is an axis.
_WITH_AXIS = frozenset(
    ("sum", "mean", "max", "min", "prod", "std", "var", "argmax", "argmin", "cumsum", "concatenate", "stack", "sort")
)

_PHRASES = (texts.SHAPE, texts.CONCRETE, texts.PARAMETER)
_result = partial(
    entry,
    title="`{function}` has a result whose size is not known",
    why="How long the result is depends on the values, and JAX must know every shape while it records.",
    fill=lambda facts: ", fill_value=0" if facts["function"].name == "unique" else "",
    link=f"{texts.API}/jax.numpy.{{function.name}}.html",
)
_ENOUGH = "Give a size that is always enough; what is not needed is filled up (`fill_value=` says with what)."
_result(
    "size_of_result",
    *_PHRASES,
    x=probes.traced,
    when=probes.calls(*_SIZED),
    function=probes.function,
    searched=probes.argument(0),
    last=lambda facts: facts.call().args[-1],
    fixes=[
        Either(
            Words("Give the number of bins: `length=BINS`.", when=probes.calls("bincount")),
            Swap(_ENOUGH, last="{last}, size={searched.atom}.size{fill}"),
        ),
        Code(
            "Do without indices: keep the shape and choose elementwise.",
            "{jnp}.where({searched}, value_if_true, value_if_false)",
            when=probes.unless(probes.calls("unique", "bincount")),
        ),
    ],
)
_result(
    "size_of_result",
    *_PHRASES,
    x=probes.argument(0),
    made=probes.made_by("jit", "vmap"),
    function=probes.argument(0, of="made"),
    when=lambda facts: facts["function"].name in _SIZED,
    fixes=Swap(_ENOUGH, function="lambda a: {function}(a, size=a.size{fill})"),
)


def _is_axis(facts: Facts) -> bool:
    """Ask whether the traced number is an axis: of that name, or the last argument of a function with one."""
    call, x = facts.call(), facts.node("x")
    named = any(one.arg == "axis" and one.value is x for one in call.keywords)
    return named or (called(call) in _WITH_AXIS and call.args[-1:] == [x])


def _all_static(facts: Facts) -> Fix | None:
    """Return the fix that makes static all the traced integers of a call, which must all be known."""
    parts = [part for one in size_arguments(facts.call()) for part in facts.scene.spot.parts(one)]
    return static_fix(facts.scene, *(value for _part, value in parts if is_traced_integer(value)))


_traced = partial(
    _size,
    x=probes.traced_size,
    otherwise="Give it as a Python number that does not depend on values, such as a static argument.",
)
_traced(
    "axis_of_tracer",
    *_PHRASES,
    when=_is_axis,
    title="`{f}` needs a known axis, but `{x}` is traced",
    why="Which axis goes decides the result's shape, and JAX must know every shape while it records.",
    fixes=_all_static,
)
_traced(
    "shape_of_tracer",
    *_PHRASES,
    when=probes.unless(probes.calls("int", "float", "complex")),
    origin=lambda facts: set_to(facts.scene.spot, str(facts["x"])),
    numpy=lambda facts: _with_numpy(facts.scene, facts.node("origin")),
    title="`{f}` needs a known size, but `{x}` is traced",
    why="JAX must know every shape while it records the program, and the value of `{x}` comes later.",
    fixes=[
        Swap("A shape is known: compute with NumPy, which stays outside the program.", origin="int({numpy})"),
        _all_static,
        Code(
            "Give the length of the result, which must not depend on values.",
            "{f}({given}, total_repeat_length=LENGTH)",
            when=probes.calls("repeat"),
        ),
        Code(
            "Choose a largest size, compute at that, and mask what is too much.",
            "{jnp}.where({jnp}.arange(LARGEST) < {x}, values, 0)",
            when=probes.calls("arange", "zeros", "ones", "full", "empty", "linspace"),
        ),
    ],
)
