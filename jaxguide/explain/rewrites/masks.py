"""Replace indexing by masks, which keep the shape: `jnp.where(mask, x, 0)` for `x[mask]`."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.code.edits import changed_lines
from jaxguide.code.user_frame import is_array
from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene, called

# Reduction -> its neutral value, for where the mask is False (NumPy's `initial` beside `where=`).
_NEUTRAL = {"sum": "0", "prod": "1", "any": "False", "all": "True", "max": "-{jnp}.inf", "min": "{jnp}.inf"}
AVERAGES = ("mean", "std", "var")
# Functions of `jax.numpy` that compute each entry of one array by itself.
ENTRY_BY_ENTRY = frozenset(
    ("abs", "absolute", "cos", "exp", "isfinite", "isnan", "log", "negative", "sign", "sin", "sqrt", "square", "tanh")
)
_EXPONENTIALS = ("softmax", "log_softmax", "logsumexp")
# Functions and attributes whose result another number of zeros changes.
_COUNTING = frozenset(
    (
        *(*AVERAGES, *_EXPONENTIALS, "average", "median", "quantile", "percentile", "cov", "corrcoef", "histogram"),
        *("prod", "cumprod", "all", "max", "min", "amax", "amin", "ptp", "argmax", "argmin", "sort", "argsort"),
        *("top_k", "unique", "bincount", "nanmean", "nanstd", "nanvar", "nanmax", "nanmin", "nanmedian", "len"),
        *("shape", "size", "log", "log2", "log10", "exp", "exp2", "cos", "cosh", "reciprocal", "sigmoid"),
    )
)
# Method of `x.at[...]` -> the sign between the old value and the given one.
_SIGNS = {"set": "", "add": "+", "multiply": "*"}


def sliced_axis(scene: Scene, node: ast.Subscript) -> tuple[int, ast.Slice] | None:
    """Return the one axis that a traced slice cuts, with the slice; None if other axes are indexed too."""
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    cut = [(axis, part) for axis, part in enumerate(parts) if ast.unparse(part) != ":"]
    if len(cut) != 1 or not isinstance(cut[0][1], ast.Slice) or scene.tracer(cut[0][1]) is None:
        return None
    return cut[0][0], cut[0][1]


def kept_places(scene: Scene, node: ast.Subscript, array: ast.expr) -> str | None:
    """Return the mask that is True inside a traced slice of an array, shaped to broadcast with the array, or None."""
    axis, mask = _mask_of(scene, node, array)
    rank = rank_of(scene, array)
    return spread(mask if rank == axis + 1 else f"({mask})", axis, rank) if mask else None


def _mask_of(scene: Scene, node: ast.Subscript, array: ast.expr) -> tuple[int, str]:
    """Return the axis that a traced slice cuts, and the mask along this axis; '' if that cannot be said."""
    axis, cut = sliced_axis(scene, node) or (0, ast.Slice())
    bounds = {">=": cut.lower, "<": cut.upper}
    if cut.step is not None or any(isinstance(bound, ast.UnaryOp) for bound in bounds.values()):
        return axis, ""  # x[:-n] counts from the end
    places = f"{scene.jnp}.arange({scene.atom(array)}.shape[{axis}])"
    tests = [f"{places} {sign} {scene.quote(bound)}" for sign, bound in bounds.items() if bound is not None]
    return axis, tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)


def spread(text: str, axis: int, rank: int | None) -> str | None:
    """Return a mask along one axis, with the axes after it added so that it broadcasts with an array of that rank."""
    if rank is None or rank <= axis:
        return None
    return text + ("" if rank == axis + 1 else f"[...{', None' * (rank - axis - 1)}]")


def masked(scene: Scene, node: ast.Subscript, keep: str | None, mask: str, said: tuple[str, str]) -> Fix | None:
    """Return the fix that keeps the shape of an indexed array and masks the rest, also in a sum or an update.

    Args:
        scene: the error.
        node: the array with its index.
        keep: the mask, shaped to broadcast with the array; None if its shape is not known.
        mask: the mask alone.
        said: what the fix does to a reduction such as a sum, and what it does otherwise.
    """
    update = _update_around(scene, node)
    if update is not None:
        return _chosen_update(scene, update, node, keep)
    if keep is None:
        return None
    values, (outer, name) = scene.quote(node.value), _reduction(scene, node)
    if outer is None:
        return _filled_with_zeros(scene, node, keep, mask, said[1])
    given = f"{values}, where={keep}"
    if name in _NEUTRAL:
        given = f"{scene.jnp}.where({keep}, {values}, {_neutral_of(scene, name, node.value)})"
    return scene.fix(said[0], scene.source.replace(outer, f"{scene.jnp}.{name}({given})"))


def masked_slice(scene: Scene, node: ast.Subscript) -> Fix | None:
    """Return the fix that keeps a sliced array's length and masks the rest."""
    keep = kept_places(scene, node, node.value)
    said = ("Keep the length and mask the rest.", "Keep the length, with 0 for the rest.")
    return masked(scene, node, keep, _mask_of(scene, node, node.value)[1], said) if keep is not None else None


def _filled_with_zeros(scene: Scene, node: ast.Subscript, keep: str, mask: str, sentence: str) -> Fix | None:
    """Return the fix that puts zeros in place of what an index leaves out, or words if a later step counts them."""
    values, outer = scene.quote(node.value), scene.source.parents.get(node)
    nodes = ast.walk(scene.spot.function or scene.source.tree)
    after = [one for one in nodes if isinstance(one, ast.expr) and one.lineno >= node.lineno]
    if any(_updates(one, node) for one in after):
        return scene.advice(
            f"Compute with all of `{values}`, and choose in place of the update: `{scene.jnp}.where(mask, new, old)`."
        )
    picked = scene.quote(outer.value) if isinstance(outer, ast.Subscript) and outer.slice is node else None
    counting = picked or next((name for one in after if (name := _name_of(one)) in _COUNTING), None)
    if counting is None:
        return scene.fix(
            f"{sentence} Right only if more zeros change nothing, as in a sum; not before a mean or a softmax.",
            scene.source.replace(node, f"{scene.jnp}.where({keep}, {values}, 0)"),
        )
    alone = isinstance(scene.spot.statement, ast.Assign) and scene.spot.statement.value is node
    code = changed_lines(scene.source.lines, [scene.source.replace(node, values)]) if alone else []
    code += [f"mask = {mask}"] if not mask.isidentifier() else []
    if counting in _EXPONENTIALS:
        chosen = f"{scene.jnp}.where({mask if mask.isidentifier() else 'mask'}, scores, -{scene.jnp}.inf)"
        words = f", and put -inf into the argument of `{counting}` outside the mask, as in `{chosen}`: "
        words += "a 0 would count there."
    elif picked is not None:
        words = f" and use a mask: a 0 as an index would pick an entry of `{picked}`."
    else:
        words = f" and use a mask: zeros in the other places would change `{counting}`."
    said = f"Keep all of `{values}`{words}"
    return scene.fix(said, code="\n".join(code)) or scene.advice(said)


def _name_of(node: ast.expr) -> str:
    """Return the name of a function or attribute: 'mean' for `x.mean`, `jnp.mean(x)` and `mean(x)`."""
    return node.attr if isinstance(node, ast.Attribute) else called(node)


def _update_around(scene: Scene, node: ast.Subscript) -> ast.Call | ast.Assign | None:
    """Return `x.at[mask].set(...)` or `x[mask] = ...` whose value takes `node`, which has the same index."""
    part: ast.AST | None = scene.source.parents.get(node)
    while isinstance(part, ast.expr | ast.keyword) and not _updates(getattr(part, "func", None), node):
        part = scene.source.parents.get(part)
    return part if isinstance(part, ast.Call) or (isinstance(part, ast.Assign) and _updates(part, node)) else None


def _updates(one: ast.AST | None, node: ast.Subscript) -> bool:
    """Return whether a node is `x.at[mask].set` or `x[mask] = ...`, with the index of another one."""
    place = one.targets[0] if isinstance(one, ast.Assign) else getattr(one, "value", None)
    is_place = isinstance(place, ast.Subscript) and (isinstance(one, ast.Assign) or _name_of(place.value) == "at")
    return is_place and place is not node and ast.dump(place.slice) == ast.dump(node.slice)  # type: ignore[union-attr]


def _chosen_update(scene: Scene, update: ast.Call | ast.Assign, node: ast.Subscript, keep: str | None) -> Fix | None:
    """Return the fix for `x.at[mask].set(f(x[mask]))`: `jnp.where(mask, f(x), x)`, or words if `f` mixes entries."""
    assigned = isinstance(update, ast.Assign)
    array: Any = update.targets[0].value if assigned else update.func.value.value.value  # type: ignore[union-attr]
    new, sign = (update.value, "") if assigned else (update.args[0], _SIGNS.get(called(update)))  # type: ignore[union-attr]
    name, whole = scene.quote(array), _without_index(scene, new, node, array)
    if keep is None or sign is None or whole is None:
        return scene.advice(
            f"Compute the new value for every entry, without the mask, and choose: `{scene.jnp}.where(mask, new, "
            f"{name})`."
        )
    sentence = "Compute the new value for every entry, and keep the old one where the mask is False."
    if re.search(r"\(|/|\*\*", whole):
        sentence += " If a value that is not taken is infinite or NaN, so is the gradient."
    changed = whole if re.fullmatch(r"[\w.]+", whole) else f"({whole})"
    text = f"{scene.jnp}.where({keep}, {f'{name} {sign} {changed}' if sign else whole}, {name})"
    return scene.fix(sentence, scene.source.replace(update, f"{name} = {text}" if assigned else text))


def _without_index(scene: Scene, new: ast.expr, node: ast.Subscript, array: ast.expr) -> str | None:
    """Return a value with `x` for each `x[mask]`; None if it does not compute each entry of one shape by itself."""
    text = scene.quote(new).replace(f"[{scene.quote(node.slice)}]", "")
    parts = list(ast.walk(ast.parse(text, mode="eval")))
    mixes = any(isinstance(one, ast.MatMult | ast.Subscript | ast.Not | ast.keyword) for one in parts)
    known = all(called(one) in ENTRY_BY_ENTRY for one in parts if isinstance(one, ast.Call))
    held = [value for _part, value in scene.spot.parts(ast.parse(text, mode="eval")) if is_array(value)]
    shape = getattr(scene.spot.value(array), "shape", None)
    return text if known and not mixes and all(one.shape in ((), shape) for one in held) else None


def masked_update(scene: Scene, update: ast.Call, node: ast.Subscript) -> Fix | None:
    """Return the fix for `x.at[:n].set(value)`, which chooses between the new value and the old ones."""
    keep = kept_places(scene, node, node.value.value) if isinstance(node.value, ast.Attribute) else None
    return _chosen_update(scene, update, node, keep) if keep is not None else None


def _reduction(scene: Scene, node: ast.Subscript) -> tuple[ast.Call | None, str]:
    """Return the call that reduces an indexed array, such as `x[m].sum()` or `jnp.sum(x[m])`, and its name."""
    outer = scene.source.parents.get(node)
    call = scene.source.parents.get(outer) if isinstance(outer, ast.Attribute) else outer
    is_plain = isinstance(call, ast.Call) and not call.keywords and call.args == ([] if call is not outer else [node])
    if is_plain and called(call) in (*_NEUTRAL, *AVERAGES):
        return call, called(call)  # type: ignore[return-value]
    return None, ""


def _neutral_of(scene: Scene, name: str, array: ast.expr) -> str:
    """Return the neutral value of a reduction: 0 for a sum, the smallest number for a maximum."""
    value = scene.spot.value(array)
    if name in ("max", "min") and is_array(value) and jax.dtypes.issubdtype(value.dtype, np.integer):
        return f"{scene.jnp}.iinfo({scene.quote(array)}.dtype).{'min' if name == 'max' else 'max'}"
    return _NEUTRAL[name].format(jnp=scene.jnp)


def rank_of(scene: Scene, node: ast.expr) -> int | None:
    """Return the number of axes of an array, or None if unknown."""
    value = scene.spot.value(node)
    return value.ndim if is_array(value) else None
