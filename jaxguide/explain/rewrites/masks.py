"""Replace indexing by masks, which keep the shape: `jnp.where(mask, x, 0)` for `x[mask]`."""

import ast

from jaxguide.base.text import _
from jaxguide.code.user_frame import is_array
from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene, called

# Reduction -> its neutral value, for where the mask is False (NumPy's `initial` beside `where=`).
_NEUTRAL = {"sum": "0", "prod": "1", "any": "False", "all": "True", "max": "-{jnp}.inf", "min": "{jnp}.inf"}
AVERAGES = ("mean", "std", "var")


def sliced_axis(scene: Scene, node: ast.Subscript) -> tuple[int, ast.Slice] | None:
    """Return the one axis that a traced slice cuts, with the slice; None if other axes are indexed too."""
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    cut = [(axis, part) for axis, part in enumerate(parts) if not is_whole(part)]
    if len(cut) != 1 or not isinstance(cut[0][1], ast.Slice) or scene.tracer(cut[0][1]) is None:
        return None
    return cut[0][0], cut[0][1]


def kept_places(scene: Scene, node: ast.Subscript, array: ast.expr) -> str | None:
    """Return the mask that is True inside a traced slice of an array, shaped to broadcast with the array, or None."""
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
    rank = rank_of(scene, array)
    return spread(text if rank == axis + 1 else f"({text})", axis, rank)


def spread(text: str, axis: int, rank: int | None) -> str | None:
    """Return a mask along one axis, with the axes after it added so that it broadcasts with an array of that rank."""
    if rank is None or rank <= axis:
        return None
    return text + ("" if rank == axis + 1 else f"[...{', None' * (rank - axis - 1)}]")


def masked(scene: Scene, node: ast.Subscript) -> Fix | None:
    """Return the fix that keeps a sliced array's length and masks the rest."""
    values, keep = scene.quote(node.value), kept_places(scene, node, node.value)
    if keep is None:
        return None
    reduced = reduction(scene, node)
    if reduced is not None and reduced[1] in _NEUTRAL:
        outer, name = reduced
        neutral = neutral_of(scene, name, node.value)
        text = f"{scene.jnp}.{name}({scene.jnp}.where({keep}, {values}, {neutral}))"
        return scene.fix(_("Keep the length and mask the rest."), scene.source.replace(outer, text))
    if reduced is not None:
        text = f"{scene.jnp}.{reduced[1]}({values}, where={keep})"
        return scene.fix(_("Keep the length and mask the rest."), scene.source.replace(reduced[0], text))
    text = f"{scene.jnp}.where({keep}, {values}, 0)"
    return scene.fix(_("Keep the length, with 0 for the rest."), scene.source.replace(node, text))


def masked_update(scene: Scene, update: ast.Call, node: ast.Subscript) -> Fix | None:
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


def reduction(scene: Scene, node: ast.Subscript) -> tuple[ast.Call, str] | None:
    """Return the call that reduces an indexed array, such as `x[m].sum()` or `jnp.sum(x[m])`, and its name."""
    outer = scene.source.parents.get(node)
    names = {*_NEUTRAL, *AVERAGES}
    if isinstance(outer, ast.Attribute) and outer.attr in names:
        call = scene.source.parents.get(outer)
        if isinstance(call, ast.Call) and call.func is outer and not call.args and not call.keywords:
            return call, outer.attr
    if isinstance(outer, ast.Call) and outer.args == [node] and not outer.keywords and called(outer) in names:
        return outer, called(outer)
    return None


def neutral_of(scene: Scene, name: str, array: ast.expr) -> str:
    """Return the neutral value of a reduction: 0 for a sum, the smallest number for a maximum."""
    value = scene.spot.value(array)
    if name in ("max", "min") and is_array(value) and value.dtype.kind in "iu":
        return f"{scene.jnp}.iinfo({scene.quote(array)}.dtype).{'min' if name == 'max' else 'max'}"
    return _NEUTRAL[name].format(jnp=scene.jnp)


def rank_of(scene: Scene, node: ast.expr) -> int | None:
    """Return the number of axes of an array, or None if unknown."""
    value = scene.spot.value(node)
    return value.ndim if is_array(value) else None


def is_whole(node: ast.expr) -> bool:
    """Return whether an index is `:`."""
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
