"""Replace indexing by masks, which keep the shape: `jnp.where(mask, x, 0)` for `x[mask]`."""

import ast
import re
from collections.abc import Iterator

import jax
import numpy as np

from jaxguide.code.edits import changed_lines
from jaxguide.code.user_frame import is_array
from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import own_nodes

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
    cut = [(axis, part) for axis, part in enumerate(parts) if not is_whole(part)]
    if len(cut) != 1 or not isinstance(cut[0][1], ast.Slice) or scene.tracer(cut[0][1]) is None:
        return None
    return cut[0][0], cut[0][1]


def kept_places(scene: Scene, node: ast.Subscript, array: ast.expr) -> str | None:
    """Return the mask that is True inside a traced slice of an array, shaped to broadcast with the array, or None."""
    place, mask = sliced_axis(scene, node), _mask_of(scene, node, array)
    if place is None or mask is None:
        return None
    axis, rank = place[0], rank_of(scene, array)
    return spread(mask if rank == axis + 1 else f"({mask})", axis, rank)


def _mask_of(scene: Scene, node: ast.Subscript, array: ast.expr) -> str | None:
    """Return the mask along the one axis that a traced slice cuts, or None."""
    place = sliced_axis(scene, node)
    if place is None or place[1].step is not None:
        return None
    axis, bounds = place
    places = f"{scene.jnp}.arange({scene.atom(array)}.shape[{axis}])"
    if any(isinstance(bound, ast.UnaryOp) for bound in (bounds.lower, bounds.upper)):  # x[:-n] counts from the end
        return None
    tests = [f"{places} >= {scene.quote(bounds.lower)}"] if bounds.lower else []
    tests += [f"{places} < {scene.quote(bounds.upper)}"] if bounds.upper else []
    return tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)


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
    update = update_around(scene, node)
    if update is not None:
        return chosen_update(scene, update, node, keep)
    if keep is None:
        return None
    values, reduced = scene.quote(node.value), reduction(scene, node)
    if reduced is None:
        return filled_with_zeros(scene, node, keep, mask, said[1])
    outer, name = reduced
    given = f"{values}, where={keep}"
    if name in _NEUTRAL:
        given = f"{scene.jnp}.where({keep}, {values}, {neutral_of(scene, name, node.value)})"
    return scene.fix(said[0], scene.source.replace(outer, f"{scene.jnp}.{name}({given})"))


def masked_slice(scene: Scene, node: ast.Subscript) -> Fix | None:
    """Return the fix that keeps a sliced array's length and masks the rest."""
    keep = kept_places(scene, node, node.value)
    said = ("Keep the length and mask the rest.", "Keep the length, with 0 for the rest.")
    return masked(scene, node, keep, _mask_of(scene, node, node.value) or "", said) if keep is not None else None


def filled_with_zeros(scene: Scene, node: ast.Subscript, keep: str, mask: str, sentence: str) -> Fix | None:
    """Return the fix that puts zeros in place of what an index leaves out, or words if a later step counts them.

    Args:
        scene: the error.
        node: the array with its index.
        keep: the mask, shaped to broadcast with the array.
        mask: the mask alone.
        sentence: what the fix does.
    """
    values, takers = scene.quote(node.value), list(_takers(scene, node))
    if any(isinstance(one, ast.Call) and _is_at_index(one, node) for one in takers):
        return scene.advice(
            f"Compute with all of `{values}`, and choose in place of the update: `{scene.jnp}.where(mask, new, old)`."
        )
    picked = next((one for one in takers if isinstance(one, ast.Subscript)), None)
    counting = next((name for one in takers if (name := _name_of(one)) in _COUNTING), None)
    counting = scene.quote(picked.value) if picked is not None else counting
    if counting is not None:
        alone = isinstance(scene.spot.statement, ast.Assign) and scene.spot.statement.value is node
        code = changed_lines(scene.source.lines, [scene.source.replace(node, values)]) if alone else []
        code += [f"mask = {mask}"] if not mask.isidentifier() else []
        name = mask if mask.isidentifier() else "mask"
        if counting in _EXPONENTIALS:
            words = (
                "Keep all of `{values}`, and put -inf into the argument of `{function}` outside the mask, as in "
                "`{jnp}.where({mask}, scores, -{jnp}.inf)`: a 0 would count there."
            )
        elif picked is not None:
            words = "Keep all of `{values}` and use a mask: a 0 as an index would pick an entry of `{function}`."
        else:
            words = "Keep all of `{values}` and use a mask: zeros in the other places would change `{function}`."
        said = words.format(values=values, function=counting, jnp=scene.jnp, mask=name)
        return scene.fix(said, code="\n".join(code)) or scene.advice(said)
    return scene.fix(
        f"{sentence} Right only if more zeros change nothing, as in a sum; not before a mean or a softmax.",
        scene.source.replace(node, f"{scene.jnp}.where({keep}, {values}, 0)"),
    )


def _takers(scene: Scene, node: ast.expr) -> Iterator[ast.expr]:
    """Yield the calls, attributes and items in a function that use a value, also by names that it is assigned to."""
    source, function = scene.source, scene.spot.function
    body = list(own_nodes(function)) if function is not None else list(ast.walk(source.tree))
    waiting, seen = [node], set[str]()
    while waiting:
        part: ast.AST | None = waiting.pop(0)
        while isinstance(part, ast.expr | ast.keyword):
            if part is not node and isinstance(part, ast.Call | ast.Attribute):
                yield part
            outer = source.parents.get(part)
            if isinstance(outer, ast.Subscript) and outer.slice is part:
                yield outer
            part = outer
        for name in _assigned(part) - seen:
            seen.add(name)
            waiting += [n for n in body if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]


def _assigned(statement: ast.AST | None) -> set[str]:
    """Return the names that an assignment sets."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    else:
        targets = [statement.target] if isinstance(statement, ast.AugAssign | ast.AnnAssign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _name_of(node: ast.expr) -> str:
    """Return the name of a function or attribute: 'mean' for `x.mean`, `jnp.mean(x)` and `mean(x)`."""
    return node.attr if isinstance(node, ast.Attribute) else called(node)


def update_around(scene: Scene, node: ast.Subscript) -> ast.Call | ast.Assign | None:
    """Return `x.at[mask].set(...)` or `x[mask] = ...` whose value takes `node`, which has the same index."""
    part: ast.AST | None = scene.source.parents.get(node)
    while isinstance(part, ast.expr | ast.keyword):
        if isinstance(part, ast.Call) and _is_at_index(part, node):
            return part
        part = scene.source.parents.get(part)
    target = part.targets[0] if isinstance(part, ast.Assign) and len(part.targets) == 1 else None
    same = isinstance(target, ast.Subscript) and target is not node and ast.dump(target.slice) == ast.dump(node.slice)
    return part if isinstance(part, ast.Assign) and same else None


def _is_at_index(call: ast.Call, node: ast.Subscript) -> bool:
    """Return whether a call is an update such as `x.at[mask].set(value)`, with the index of a node."""
    place = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(place, ast.Subscript) or not isinstance(place.value, ast.Attribute):
        return False
    return place.value.attr == "at" and ast.dump(place.slice) == ast.dump(node.slice)


def chosen_update(scene: Scene, update: ast.Call | ast.Assign, node: ast.Subscript, keep: str | None) -> Fix | None:
    """Return the fix for `x.at[mask].set(f(x[mask]))`: `jnp.where(mask, f(x), x)`, or words if `f` mixes entries."""
    new: ast.expr | None = None
    sign: str | None = ""
    if isinstance(update, ast.Assign):
        array, new = update.targets[0].value, update.value  # type: ignore[attr-defined]
    else:
        array, sign = update.func.value.value.value, _SIGNS.get(called(update))  # type: ignore[attr-defined]
        new = update.args[0] if len(update.args) == 1 and not update.keywords else None
    name = scene.quote(array)
    whole = _without_index(scene, new, node, array) if new is not None else None
    if keep is None or sign is None or whole is None:
        return scene.advice(
            f"Compute the new value for every entry, without the mask, and choose: `{scene.jnp}.where(mask, new, "
            f"{name})`."
        )
    sentence = "Compute the new value for every entry, and keep the old one where the mask is False."
    if re.search(r"\(|/|\*\*", whole):
        sentence += " If a value that is not taken is infinite or NaN, so is the gradient."
    text = f"{scene.jnp}.where({keep}, {f'{name} {sign} ({whole})' if sign else whole}, {name})"
    if isinstance(update, ast.Assign):
        return scene.fix(
            sentence, scene.source.replace(update.value, text), scene.source.replace(update.targets[0], name)
        )
    return scene.fix(sentence, scene.source.replace(update, text))


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
    if not isinstance(node.value, ast.Attribute) or len(update.args) != 1 or update.keywords:
        return None
    array, sign = node.value.value, _SIGNS.get(called(update))
    keep, value = kept_places(scene, node, array), scene.quote(update.args[0])
    given = scene.spot.value(update.args[0])
    if keep is None or sign is None or not (isinstance(given, int | float) or getattr(given, "ndim", 1) == 0):
        return None
    name = scene.quote(array)
    new = f"{name} {sign} {scene.atom(update.args[0])}" if sign else value
    return scene.fix(
        "Choose between the new value and the old ones.",
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
    if name in ("max", "min") and is_array(value) and jax.dtypes.issubdtype(value.dtype, np.integer):
        return f"{scene.jnp}.iinfo({scene.quote(array)}.dtype).{'min' if name == 'max' else 'max'}"
    return _NEUTRAL[name].format(jnp=scene.jnp)


def rank_of(scene: Scene, node: ast.expr) -> int | None:
    """Return the number of axes of an array, or None if unknown."""
    value = scene.spot.value(node)
    return value.ndim if is_array(value) else None


def is_whole(node: ast.expr) -> bool:
    """Return whether an index is `:`."""
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
