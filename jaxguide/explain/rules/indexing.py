"""Explain indices that JAX does not support: masks and slices that change the shape, floats, lists and strings."""

import ast
import re

from jaxguide.base.text import _, plural
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.masks import (
    AVERAGES,
    masked,
    masked_update,
    neutral_of,
    rank_of,
    reduction,
    sliced_axis,
    spread,
)
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene


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
    reduced = reduction(scene, node)
    fixes: list[Fix | None] = []
    if not plain:
        fixes.append(
            scene.fix(
                _("Keep the shape, with 0 where the mask is False."), code=f"{scene.jnp}.where(mask, {values}, 0)"
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
            scene.fix(_("Keep the shape, and let what is masked out count for nothing."), source.replace(outer, text))
        )
    else:
        fixes.append(
            scene.fix(
                _("Keep the shape, with 0 where the mask is False."),
                source.replace(node, f"{scene.jnp}.where({keep}, {values}, 0)"),
            )
        )
        if ranks[0] == 1:
            fixes.append(
                scene.fix(
                    _("Pack them to the front, at full length, filled up with 0."),
                    source.replace(
                        node, f"{scene.jnp}.compress({mask}, {values}, size={scene.atom(node.value)}.shape[0])"
                    ),
                )
            )
    return scene.explanation(
        "boolean_mask",
        title=_("A mask picks a number of values that is not known"),
        what=what,
        variable=variable,
        why=_(
            "How long `{text}` is depends on how many are True, and JAX must know every shape while it records."
        ).format(text=scene.quote(node)),
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
        values, window = scene.quote(node.value), _window(cut)
        if window is not None and cut.lower is not None:
            along = f", axis={axis}" if axis else ""
            text = f"{scene.lax}.dynamic_slice_in_dim({values}, {scene.quote(cut.lower)}, {window}{along})"
            fixes.append(
                scene.fix(
                    _("Move a window of fixed length: `lax.dynamic_slice_in_dim` (at the end it moves back to fit)."),
                    source.replace(node, text),
                )
            )
        else:
            fixes.append(masked(scene, node))
    bounds = [value for _part, value in scene.spot.parts(node.slice) if is_tracer(value)]
    return scene.explanation(
        "dynamic_slice",
        title=_("A slice has a bound that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("How long `{text}` is depends on `{name}`, and JAX must know every shape while it records.").format(
            text=scene.quote(node), name=variable
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
    if not isinstance(node, ast.Subscript):
        return None
    index = scene.quote(node.slice)
    value = scene.spot.value(node.slice)
    python = isinstance(value, float)
    text = f"int({index})" if python else f"{scene.atom(node.slice)}.astype(int)"
    return scene.explanation(
        "index_of_floats",
        title=_("An index must be an integer"),
        what=scene.what(index, value)
        if value is not MISSING and not python
        else _("`{name}` is a float here.").format(name=index),
        variable=index,
        why=_("Positions are counted, so a float names none, even one without a fraction."),
        fixes=[scene.fix(_("Make it an integer."), scene.source.replace(node.slice, text))],
        link=f"{error_texts.API}/jax.numpy.astype.html",
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
        title=_("A list is no index for JAX"),
        what=_("`{name}` is a list here.").format(name=index),
        variable=index,
        why=_(
            "NumPy takes a list for an array of positions; JAX does not guess, and a tuple means one index per axis."
        ),
        fixes=[
            scene.fix(
                _("Say that it is an array of positions."),
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
    kept = [scene.quote(element) for element in node.slice.elts[:rank]]
    return scene.explanation(
        "too_many_indices",
        title=_("More indices than axes"),
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
                _("Give one index for each axis, from the first."),
                scene.source.replace(node.slice, ", ".join(kept)) if kept else None,
            ),
            scene.fix(_("Look at the shape first."), code=f"{scene.atom(node.value)}.shape"),
        ],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )


def _window(node: ast.Slice) -> str | None:
    """Return the length of a slice `i : i + length`, or None for any other slice."""
    lower, upper = node.lower, node.upper
    if lower is None or not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add) or node.step:
        return None
    for start, length in ((upper.left, upper.right), (upper.right, upper.left)):
        if ast.dump(start) == ast.dump(lower):
            return ast.unparse(length)
    return None
