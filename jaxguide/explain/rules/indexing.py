"""Explain indices that JAX does not support: masks and slices that change the shape, floats, lists and strings."""

import ast
import re

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.masks import (
    AVERAGES,
    chosen_update,
    filled_with_zeros,
    masked,
    masked_update,
    neutral_of,
    rank_of,
    reduction,
    sliced_axis,
    spread,
    update_around,
)
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rewrites.windows import window_of
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.explain.transformed import parameters


@explains(error_texts.BOOLEAN_MASK)
def boolean_mask(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[mask]`, whose length depends on how many values are True."""
    node, source = scene.node, scene.source
    if not isinstance(node, ast.Subscript):
        return None
    mask, values = scene.quote(node.slice), scene.quote(node.value)
    traced = scene.tracer(node.slice) or scene.tracer(node.value)
    if traced is None:
        return None
    variable = scene.quote(node.slice) if isinstance(node.slice, ast.Name) else scene.quote(traced[0])
    value = scene.spot.value(ast.Name(variable, ast.Load()))
    what = scene.what(variable, value if value is not MISSING else traced[1])
    ranks = rank_of(scene, node.value), found[1].count(",") + 1
    keep = spread(scene.atom(node.slice) if ranks[0] != ranks[1] else mask, ranks[1] - 1, ranks[0])
    plain = not isinstance(node.slice, ast.Tuple) and keep is not None
    reduced, update = reduction(scene, node), update_around(scene, node)
    fixes: list[Fix | None] = []
    if update is not None:
        fixes.append(chosen_update(scene, update, node, keep if plain and ranks[0] == ranks[1] else None))
    elif not plain:
        fixes.append(
            scene.fix(
                (
                    "Keep the shape, with 0 where the mask is False. Right only if more zeros change nothing, as in a "
                    "sum; not before a mean or a softmax."
                ),
                code=f"{scene.jnp}.where(mask, {values}, 0)",
            )
        )
    elif reduced is not None:
        outer, name = reduced
        if name in AVERAGES:
            text = f"{scene.jnp}.{name}({values}, where={keep})"
        else:
            neutral = neutral_of(scene, name, node.value)
            text = f"{scene.jnp}.{name}({scene.jnp}.where({keep}, {values}, {neutral}))"
        fixes.append(
            scene.fix("Keep the shape, and let what is masked out count for nothing.", source.replace(outer, text))
        )
    elif keep is not None:
        kept = filled_with_zeros(scene, node, keep, mask, "Keep the shape, with 0 where the mask is False.")
        fixes.append(kept)
        if ranks[0] == 1 and kept is not None and kept.edits:
            fixes.append(
                scene.fix(
                    "Pack them to the front, at full length, filled up with 0, which counts as above.",
                    source.replace(
                        node, f"{scene.jnp}.compress({mask}, {values}, size={scene.atom(node.value)}.shape[0])"
                    ),
                )
            )
    return scene.explanation(
        "boolean_mask",
        title="A mask picks an unknown number of values",
        what=what,
        variable=variable,
        why=(
            f"How long `{scene.quote(node)}` is depends on how many are True, and JAX must know every shape while it "
            "records."
        ),
        fixes=fixes,
        link=error_texts.ERRORS_PAGE,
    )


@explains(error_texts.DYNAMIC_SLICE)
def dynamic_slice(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[:n]`, `x[:, i : i + 2]` and `x.at[:n].set(0.0)` with a traced bound."""
    node, source = scene.node, scene.source
    update = node if isinstance(node, ast.Call) else None
    if update is not None:
        node = update.func.value if isinstance(update.func, ast.Attribute) else node
    if not isinstance(node, ast.Subscript):
        return None
    traced, place = scene.tracer(node.slice), sliced_axis(scene, node)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    fixes: list[Fix | None] = []
    if update is not None:
        fixes.append(masked_update(scene, update, node))
    elif place is not None:
        axis, cut = place
        array = scene.spot.value(node.value)
        entries = array.shape[axis] if is_array(array) and array.ndim > axis else None
        values, window = scene.quote(node.value), window_of(scene, cut, entries)
        if window is not None and cut.lower is not None:
            along = f", axis={axis}" if axis else ""
            text = f"{scene.lax}.dynamic_slice_in_dim({values}, {scene.quote(cut.lower)}, {window}{along})"
            fixes.append(
                scene.fix(
                    "Move a window of fixed length: `lax.dynamic_slice_in_dim` (at the end it moves back to fit).",
                    source.replace(node, text),
                )
            )
        else:
            fixes.append(masked(scene, node))
    bounds = [value for _part, value in scene.spot.parts(node.slice) if is_tracer(value)]
    return scene.explanation(
        "dynamic_slice",
        title=f"A slice needs known bounds, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=(
            f"How long `{scene.quote(node)}` is depends on `{variable}`, and JAX must know every shape while it "
            "records."
        ),
        fixes=[
            *fixes,
            static_fix(scene, *bounds),
        ],
        link=f"{error_texts.API}/jax.lax.dynamic_slice.html",
    )


@explains(error_texts.INDEX_FLOAT)
def float_index(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[1.0]`."""
    node = scene.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # `x.at[1.0].set(2)`
        node = node.func.value
    if not isinstance(node, ast.Subscript):
        return None
    index = scene.quote(node.slice)
    value = scene.spot.value(node.slice)
    python = isinstance(value, float)
    swapped = _swapped_parameters(scene, node.slice, value)
    if swapped is not None:
        return swapped
    arrays = scene.spot.first(node.slice, is_array) is not None
    edit: Edit | None = None
    if python or (not arrays and _is_python_number(scene, node.slice)):
        python = True
        edit = scene.source.replace(node.slice, _as_integer(scene, node.slice))
    elif arrays:
        edit = scene.source.replace(node.slice, f"{scene.atom(node.slice)}.astype(int)")
    return scene.explanation(
        "index_of_floats",
        title="An index that is a float",
        what=scene.what(index, value) if value is not MISSING and not python else f"`{index}` is a float here.",
        variable=index,
        why="Positions are counted, so a float names none, even one without a fraction.",
        fixes=[scene.fix("Make it an integer.", edit) or scene.advice("Make it an integer.")],
        link=f"{error_texts.API}/jax.numpy.astype.html",
    )


def _is_python_number(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression computes with Python's numbers and lengths alone."""
    if isinstance(node, ast.BinOp):
        return _is_python_number(scene, node.left) and _is_python_number(scene, node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_python_number(scene, node.operand)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("len", "float", "int", "round")
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return True
    return isinstance(scene.spot.value(node), int | float)


def _as_integer(scene: Scene, node: ast.expr) -> str:
    """Return the text of a Python number as an integer: a quotient becomes `//`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and "float" not in scene.quote(node):
        return f"{scene.atom(node.left)} // {scene.atom(node.right)}"
    return f"int({scene.quote(node)})"


def _swapped_parameters(scene: Scene, index: ast.expr, value: object) -> Explanation | None:
    """Explain a body of `lax.fori_loop` that indexes by its second parameter, which is the carry."""
    function = scene.spot.function
    own = parameters(function) if function is not None else []
    if len(own) != 2 or not isinstance(index, ast.Name) or own[1].arg != index.id or not is_tracer(value):
        return None
    if scene.under(value) != "lax.fori_loop":
        return None
    first, second = own[0].arg, own[1].arg
    return scene.explanation(
        "swapped_parameters",
        title="A loop body with its two parameters the other way round",
        what=scene.what(second, value),
        variable=second,
        why="`lax.fori_loop` gives its body the number of the turn first, and the carry second.",
        fixes=[
            scene.fix(
                "Take the number of the turn first.",
                scene.source.replace(own[0], second),
                scene.source.replace(own[1], first),
            )
        ],
        link=f"{error_texts.API}/jax.lax.fori_loop.html",
    )


@explains(error_texts.INDEX_LIST)
def list_index(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[[0, 1]]`."""
    node = scene.node
    if not isinstance(node, ast.Subscript):
        return None
    index = scene.quote(node.slice)
    return scene.explanation(
        "index_of_list",
        title="A list used as an index",
        what=f"`{index}` is a list here.",
        variable=index,
        why="NumPy takes a list for an array of positions; JAX does not guess, and a tuple means one index per axis.",
        fixes=[
            scene.fix(
                "Say that it is an array of positions.",
                scene.source.replace(node.slice, f"{scene.jnp}.array({index})"),
            ),
        ],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )


@explains(error_texts.TOO_MANY_INDICES)
def too_many_indices(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[0, 1]` of a vector."""
    node = scene.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    value = scene.spot.value(node.value)
    rank, name = int(found[1]), scene.quote(node.value)
    plain = not any(isinstance(one, ast.Constant) and one.value in (None, ...) for one in node.slice.elts)
    kept = [scene.quote(element) for element in node.slice.elts[:rank]] if plain else []
    mapped = is_tracer(value) and scene.under(value) == "jax.vmap"
    return scene.explanation(
        "too_many_indices",
        title="More indices than axes",
        what=scene.what(name, value) if is_array(value) else "",
        variable=name,
        why=plural(
            "It has {count} axis and {given} indices were given: one index takes away one axis.",
            "It has {count} axes and {given} indices were given: one index takes away one axis.",
            rank,
            given=found[2],
        ),
        fixes=[
            scene.fix(
                "Give one index for each axis, from the first.",
                scene.source.replace(node.slice, ", ".join(kept)) if kept else None,
            )
            if not mapped
            else scene.advice(
                "If one is for the axis that `jax.vmap` maps over: leave it out, since each call gets one entry."
            ),
            scene.fix("Look at the shape first.", code=f"{scene.atom(node.value)}.shape"),
        ],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )
