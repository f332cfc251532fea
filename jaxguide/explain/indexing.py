"""Explain indices that JAX cannot take: masks and slices that change the shape, floats, lists and strings."""

import ast
import re

from jaxguide.explain import phrases
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.jitted import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.spot import MISSING, is_array, is_tracer
from jaxguide.text import _, plural

# Reductions of what a mask picks -> what to put where the mask is False (an `initial` for NumPy's `where=`).
_NEUTRAL = {"sum": "0", "prod": "1", "any": "False", "all": "True", "max": "-{jnp}.inf", "min": "{jnp}.inf"}
_AVERAGES = ("mean", "std", "var")


@explains(phrases.BOOLEAN_MASK)
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
    ranks = _rank(scene, node.value), found[1].count(",") + 1
    keep = spread(scene.atom(node.slice) if ranks[0] != ranks[1] else mask, ranks[1] - 1, ranks[0])
    plain = not isinstance(node.slice, ast.Tuple) and keep is not None
    reduced = _reduction(scene, node)
    fixes: list[Fix | None] = []
    if not plain:
        fixes.append(
            scene.fix(
                _("Keep the shape, with 0 where the mask is False."), code=f"{scene.jnp}.where(mask, {values}, 0)"
            )
        )
    elif reduced is not None:
        outer, name = reduced
        if name in _AVERAGES:
            text = f"{scene.jnp}.{name}({values}, where={keep})"
        else:
            neutral = _neutral(scene, name, node.value)
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
        link=phrases.ERRORS_PAGE,
    )


@explains(phrases.DYNAMIC_SLICE)
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
        fixes.append(_masked_update(scene, update, node))
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
            fixes.append(_masked(scene, node))
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
        link=f"{phrases.API}/jax.lax.dynamic_slice.html",
    )


def sliced_axis(scene: Scene, node: ast.Subscript) -> tuple[int, ast.Slice] | None:
    """Return the one axis that a traced slice cuts, with the slice; None where other axes are indexed too."""
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    cut = [(axis, part) for axis, part in enumerate(parts) if not _is_whole(part)]
    if len(cut) != 1 or not isinstance(cut[0][1], ast.Slice) or scene.tracer(cut[0][1]) is None:
        return None
    return cut[0][0], cut[0][1]


def kept_places(scene: Scene, node: ast.Subscript, array: ast.expr) -> str | None:
    """Return the mask that is True where a traced slice of an array lies, shaped to broadcast with the array."""
    place = sliced_axis(scene, node)
    if place is None or place[1].step is not None:
        return None
    axis, bounds = place
    places = f"{scene.jnp}.arange({scene.atom(array)}.shape[{axis}])"
    if any(isinstance(bound, ast.UnaryOp) for bound in (bounds.lower, bounds.upper)):  # x[:-n] counts from the end
        return None
    tests = [f"{places} >= {scene.quote(bounds.lower)}"] if bounds.lower else []
    tests += [f"{places} < {scene.quote(bounds.upper)}"] if bounds.upper else []
    text = tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)
    rank = _rank(scene, array)
    return spread(text if rank == axis + 1 else f"({text})", axis, rank)


def spread(text: str, axis: int, rank: int | None) -> str | None:
    """Return a mask along one axis with the axes behind it added, so that it broadcasts with an array of that rank."""
    if rank is None or rank <= axis:
        return None
    return text + ("" if rank == axis + 1 else f"[...{', None' * (rank - axis - 1)}]")


def _masked(scene: Scene, node: ast.Subscript) -> Fix | None:
    """Return the fix that keeps a sliced array's length and masks the rest."""
    values, keep = scene.quote(node.value), kept_places(scene, node, node.value)
    if keep is None:
        return None
    reduced = _reduction(scene, node)
    if reduced is not None and reduced[1] in _NEUTRAL:
        outer, name = reduced
        neutral = _neutral(scene, name, node.value)
        text = f"{scene.jnp}.{name}({scene.jnp}.where({keep}, {values}, {neutral}))"
        return scene.fix(_("Keep the length and mask the rest."), scene.source.replace(outer, text))
    if reduced is not None:
        text = f"{scene.jnp}.{reduced[1]}({values}, where={keep})"
        return scene.fix(_("Keep the length and mask the rest."), scene.source.replace(reduced[0], text))
    text = f"{scene.jnp}.where({keep}, {values}, 0)"
    return scene.fix(_("Keep the length, with 0 for the rest."), scene.source.replace(node, text))


def _masked_update(scene: Scene, update: ast.Call, node: ast.Subscript) -> Fix | None:
    """Return the fix for `x.at[:n].set(value)`, which chooses between the new value and the old ones."""
    if not isinstance(node.value, ast.Attribute) or len(update.args) != 1 or update.keywords:
        return None
    array, sign = node.value.value, {"set": "", "add": "+", "multiply": "*"}.get(called(update))
    keep, value = kept_places(scene, node, array), scene.quote(update.args[0])
    given = scene.spot.value(update.args[0])
    if keep is None or sign is None or not (isinstance(given, int | float) or getattr(given, "ndim", 1) == 0):
        return None
    name = scene.quote(array)
    new = f"{name} {sign} {scene.atom(update.args[0])}" if sign else value
    return scene.fix(
        _("Choose between the new value and the old ones."),
        scene.source.replace(update, f"{scene.jnp}.where({keep}, {new}, {name})"),
    )


@explains(phrases.INDEX_FLOAT)
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
        link=f"{phrases.API}/jax.numpy.astype.html",
    )


@explains(phrases.INDEX_LIST)
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


@explains(phrases.TOO_MANY_INDICES)
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


def _reduction(scene: Scene, node: ast.Subscript) -> tuple[ast.Call, str] | None:
    """Return the call that reduces what was picked, and its name: `x[m].sum()`, `jnp.sum(x[m])`."""
    outer = scene.source.parents.get(node)
    names = {*_NEUTRAL, *_AVERAGES}
    if isinstance(outer, ast.Attribute) and outer.attr in names:
        call = scene.source.parents.get(outer)
        if isinstance(call, ast.Call) and call.func is outer and not call.args and not call.keywords:
            return call, outer.attr
    if isinstance(outer, ast.Call) and outer.args == [node] and not outer.keywords and called(outer) in names:
        return outer, called(outer)
    return None


def _neutral(scene: Scene, name: str, array: ast.expr) -> str:
    """Return what changes nothing in a reduction: 0 in a sum, the smallest number in a maximum."""
    value = scene.spot.value(array)
    if name in ("max", "min") and is_array(value) and value.dtype.kind in "iu":
        return f"{scene.jnp}.iinfo({scene.quote(array)}.dtype).{'min' if name == 'max' else 'max'}"
    return _NEUTRAL[name].format(jnp=scene.jnp)


def _rank(scene: Scene, node: ast.expr) -> int | None:
    value = scene.spot.value(node)
    return value.ndim if is_array(value) else None


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None


def _window(node: ast.Slice) -> str | None:
    """Return the length of a slice `i : i + length`, None for any other."""
    lower, upper = node.lower, node.upper
    if lower is None or not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add) or node.step:
        return None
    for start, length in ((upper.left, upper.right), (upper.right, upper.left)):
        if ast.dump(start) == ast.dump(lower):
            return ast.unparse(length)
    return None
