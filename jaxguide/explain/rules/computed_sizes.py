"""Explain sizes that are computed: from shapes with `jax.numpy`, from values, or given as arrays and tuples."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.edits import Edit
from jaxguide.code.source import arguments_of, dotted, source_of
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called, is_traced_integer

# Where a function takes a size: its position and name.
_SIZES: dict[str, tuple[int, str]] = {
    "one_hot": (1, "num_classes"),
    "segment_sum": (2, "num_segments"),
    "segment_max": (2, "num_segments"),
    "segment_min": (2, "num_segments"),
    "repeat": (1, "repeats"),
    "eye": (0, "N"),
    "arange": (0, "start"),
    "zeros": (0, "shape"),
    "ones": (0, "shape"),
    "full": (0, "shape"),
    "linspace": (2, "num"),
}


@explains(error_texts.SHAPE, error_texts.CONCRETE)
def size_from_a_shape(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.reshape(jnp.array(x.shape).prod())` and `int(jnp.sqrt(n))`, whose numbers are all known."""
    if isinstance(scene.error, jax.errors.TracerBoolConversionError):
        return None
    call = scene.call()
    if call is None:
        return None
    node = next((part for part in _candidates(scene, call) if is_of_known_numbers(scene, part)), None)
    if node is None or _has_other_cause(scene, call):
        return None
    text = scene.quote(node)
    new = re.sub(rf"(?<![\w.]){re.escape(scene.jnp)}\.", f"{scene.np}.", text)
    whole = isinstance(call.func, ast.Name) and call.func.id in ("int", "float", "complex")
    return scene.explanation(
        "size_from_a_shape",
        title=f"A known number is traced, because `{scene.jnp}` computed it",
        what=f"`{text}` uses only numbers that are known here, such as a shape.",
        variable=text,
        why=(
            f"Inside a transformation, `{scene.jnp}` records what it computes, so even a known number becomes a "
            "traced one."
        ),
        fixes=[
            scene.fix(
                "Compute with NumPy, which stays outside the program.",
                scene.source.replace(node, new if whole else f"int({new})"),
            )
        ],
        link=error_texts.STATIC_LINK,
    )


def _candidates(scene: Scene, call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call, and the entries of those that are tuples, which call `jax.numpy`."""
    parts: list[ast.expr] = []
    given = call.args[:1] if called(call) in ("full", "one_hot", "linspace") else call.args
    for argument in [*given, *(keyword.value for keyword in call.keywords)]:
        parts += argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]
    return [part for part in parts if any(_calls_jnp(scene, node) for node in ast.walk(part))]


def _has_other_cause(scene: Scene, call: ast.Call) -> bool:
    """Return whether a call is also given a traced number or traced integers, which may be what is not known."""
    for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
        for _part, value in scene.spot.parts(argument):
            if is_tracer(value) and (value.ndim == 0 or jax.dtypes.issubdtype(value.dtype, np.integer)):
                return True
    return False


def _calls_jnp(scene: Scene, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).startswith(f"{scene.jnp}.") and hasattr(np, called(node))


def is_of_known_numbers(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression uses nothing but functions, modules, and numbers that are not traced."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Call) and dotted(node.func) == "len":
        return True
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        module = dotted(node.func).startswith(f"{scene.jnp}.")
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not module and (inner is None or not is_of_known_numbers(scene, inner)):
            return False
        known = (is_of_known_numbers(scene, argument) or _is_dtype(scene, argument) for argument in arguments)
        return (not module or hasattr(np, called(node))) and all(known)
    value = scene.spot.value(node)
    if value is not MISSING:
        return not is_array(value) and all(isinstance(leaf, int | float) for leaf in jax.tree.leaves(value))
    if isinstance(node, ast.Subscript):
        return is_of_known_numbers(scene, node.value)
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "ndim", "size")
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    plain = isinstance(node, ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List)
    return plain and all(is_of_known_numbers(scene, child) for child in children)


def _is_dtype(scene: Scene, node: ast.expr) -> bool:
    value = scene.spot.value(node)
    return isinstance(value, type | np.dtype) or dotted(node).startswith(f"{scene.jnp}.")


@explains(error_texts.SHAPE, error_texts.CONCRETE)
def size_from_values(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.nn.one_hot(y, y.max() + 1)`, `jnp.repeat(x, counts)` and a missing `num_segments`."""
    call = scene.call()
    if call is None or called(call) not in _SIZES or isinstance(scene.error, jax.errors.TracerBoolConversionError):
        return None
    module = getattr(scene.spot.value(call.func), "__module__", None)
    if not isinstance(module, str) or module.split(".")[0] != "jax":
        return None
    name, function = called(call), scene.quote(call.func)
    node = argument_of(call, *_SIZES[name])
    if node is None and name.startswith("segment"):
        ids = argument_of(call, 1, "segment_ids")
        if ids is None:
            return None
        return scene.explanation(
            "size_from_values",
            title=f"`{function}` has a result whose size is not known",
            what=f"`num_segments` is not given, so it is one more than the largest of `{scene.quote(ids)}`.",
            variable=scene.quote(ids),
            why="How long the result is depends on the values, and JAX must know every shape while it records.",
            fixes=[
                scene.fix(
                    "Give the number of segments, as a Python number.",
                    code=f"{scene.quote(call)[:-1]}, num_segments=SEGMENTS)",
                )
            ],
            link=error_texts.STATIC_LINK,
        )
    traced = scene.tracer(node) if node is not None else None
    if node is None or traced is None or is_traced_integer(scene.spot.value(node)):
        return None
    if isinstance(node, ast.Tuple | ast.List) or (traced[1].ndim == 0 and not isinstance(node, ast.Call | ast.BinOp)):
        return None
    text = scene.quote(node)
    fix = scene.advice("Give it as a Python number that does not depend on values, such as a static argument.")
    if name == "repeat":
        made = scene.fix(
            "Give the length of the result, which must not depend on values.",
            code=f"{scene.quote(call)[:-1]}, total_repeat_length=LENGTH)",
        )
        fix = made or fix
    if traced[1].ndim == 0 and static_number(scene, traced[1]):
        return None
    return scene.explanation(
        "size_from_values",
        title=f"`{function}` needs a known size, but `{text}` is traced",
        what=scene.traced_what(scene.quote(traced[0]), traced[1]),
        variable=text,
        why="How long the result is depends on the values, and JAX must know every shape while it records.",
        fixes=[fix],
        link=error_texts.STATIC_LINK,
    )


def static_number(scene: Scene, tracer: Any) -> bool:
    """Return whether a traced number is an argument of the jitted function that is running."""
    return any(value is tracer for value in scene.spot.frame.f_locals.values())


@explains(error_texts.SHAPE)
def shape_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.reshape(shape)`, where `shape` is an argument of a jitted function: an array or a tuple."""
    call = scene.call()
    method = call is not None and isinstance(call.func, ast.Attribute) and is_array(scene.spot.value(call.func.value))
    first = 0 if method or (call is not None and called(call) in _SIZES) else 1
    arguments = [*call.args[first:], *(keyword.value for keyword in call.keywords)] if call is not None else []
    held = next(
        (
            (node, value)
            for argument in arguments
            for node, value in scene.spot.parts(argument)
            if isinstance(node, ast.Name) and _is_traced_shape(value)
        ),
        None,
    )
    if call is None or held is None:
        return None
    node, value = held
    name = scene.quote(node)
    by = compat.traced_by(jax.tree.leaves(value)[0])
    source = source_of(by.file) if by.file is not None else None
    known = source is not None and by.function is not None and by.line is not None
    function = source.function_at(by.function, by.line) if source is not None and known else None  # type: ignore[arg-type]
    fix: Fix | None = None
    if source is not None and function is not None and name in arguments_of(function) and by.transformation == "jit":
        given = _as_tuple_at_call(scene, arguments_of(function).index(name), name)
        edits = static_edits(scene, source, function, name)
        if given is not None and edits:
            fix = scene.fix(f"Make `{name}` static, and give a tuple of Python numbers.", *edits, *given)
    return scene.explanation(
        "shape_argument",
        title=f"`{scene.quote(call.func)}` needs a known shape, but `{name}` is traced",
        what=scene.what(name, value) if is_array(value) else f"`{name}` is a tuple of traced numbers here.",
        variable=name,
        why=f"JAX must know every shape while it records the program, and the numbers in `{name}` come later.",
        fixes=[fix or scene.advice("Give the shape as a static argument: a tuple of Python numbers.")],
        link=error_texts.STATIC_LINK,
    )


def _is_traced_shape(value: Any) -> bool:
    if is_tracer(value):
        return bool(value.ndim == 1 and jax.dtypes.issubdtype(value.dtype, np.integer))
    return isinstance(value, tuple) and bool(value) and all(is_traced_integer(entry) for entry in value)


def _as_tuple_at_call(scene: Scene, position: int, name: str) -> list[Edit] | None:
    """Return the edits that give a tuple in the call of the jitted function; None if that call is not known."""
    for spot in reversed(scene.spots[:-1]):
        call = spot.node
        if spot.source is None or not isinstance(call, ast.Call):
            continue
        given = next((k.value for k in call.keywords if k.arg == name), None)
        given = given or (call.args[position] if position < len(call.args) else None)
        if given is None:
            return None
        listed = (
            given.args[0]
            if isinstance(given, ast.Call) and called(given) in ("array", "asarray") and given.args
            else given
        )
        if isinstance(listed, ast.List | ast.Tuple) and listed.elts:
            inside = ", ".join(spot.source.quote(element) for element in listed.elts)
            comma = "," if len(listed.elts) == 1 else ""
            return [spot.source.replace(given, f"({inside}{comma})")]
        return [] if isinstance(spot.value(given), tuple) else None
    return None


@explains(structure_texts.FLOAT_AS_INTEGER)
def size_of_float(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.random.split(key, n / 2)` and `jnp.linspace(0, 1, n / 2)`."""
    call = scene.call()
    module = getattr(scene.spot.value(call.func), "__module__", None) if call is not None else None
    if call is None or not isinstance(module, str) or module.split(".")[0] != "jax":
        return None
    if called(call) not in ("split", "linspace", "eye", "identity", "tri", "one_hot", "logspace", "geomspace", "bits"):
        return None
    place = {"split": 1, "linspace": 2, "logspace": 2, "geomspace": 2, "one_hot": 1}.get(called(call), 0)
    node = argument_of(call, place, {"split": "num", "linspace": "num", "one_hot": "num_classes"}.get(called(call)))
    value = scene.spot.value(node)
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    if node is None or not (isinstance(value, float) or divides):
        return None
    text = scene.quote(node)
    new = f"int({text})"
    if isinstance(node, ast.BinOp) and divides:
        new = f"{scene.atom(node.left)} // {scene.atom(node.right)}"
    return scene.explanation(
        "shape_of_floats",
        title=f"`{scene.quote(call.func)}` was given a size that is not an integer",
        what=f"`{text}` is a float here.",
        variable=text,
        why="A size is counted, so it is an integer; `/` gives a float, even of two integers.",
        fixes=[scene.fix("Give an integer.", scene.source.replace(node, new))],
        link=f"{error_texts.API}/jax.numpy.zeros.html",
    )
