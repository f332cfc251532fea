"""Explain `in_axes` and `out_axes` of `jax.vmap` that do not fit the arguments or the result."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.mapped_axes import (
    VMAP_LINK,
    axes_as_tuple,
    axes_fix,
    axes_given,
    axes_written,
    leading_sizes,
    vmap_call,
)
from jaxguide.explain.rewrites.written_shapes import known_shape, made_with
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.explain.transformed import function_behind, parameters


@explains(error_texts.VMAP_IN_AXES)
def axes_do_not_fit(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes` with more or fewer entries than arguments."""
    mapped = vmap_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    given = axes_given(made)
    if given is None:
        return None
    text, count = scene.quote(given), int(found[1])
    fix: Fix | None = None
    value = scene.spot.value(outer.args[0]) if len(outer.args) == 1 else MISSING
    if outer.keywords:
        by_position = len(outer.keywords) == 1 and outer.keywords[0].arg is not None and count == len(outer.args) + 1
        keyword = outer.keywords[0]
        edit = Edit(
            scene.source.file,
            scene.source.start(keyword),
            scene.source.end(keyword),
            scene.quote(keyword.value),
        )
        fix = scene.fix(
            "Give it by position: `in_axes` does not count what is given by keyword.", edit if by_position else None
        )
        fix = fix or scene.advice("Give by position what `in_axes` counts: it says nothing about keywords.")
    elif (isinstance(value, tuple) and len(value) == count) or (
        len(outer.args) == 1 and isinstance(outer.args[0], ast.Tuple) and len(outer.args[0].elts) == count
    ):
        fix = axes_fix(scene, made, "Give the entries of the one tuple in a tuple of their own.", f"({text},)")
    given_axes = axes_written(made, len(outer.args))[:count]
    sizes = _mapped_sizes(scene, outer, given_axes)
    rest = [_axis_of(scene, a, sizes) for a in outer.args[count:]]
    each = [*given_axes, *(axis for axis in rest if axis is not None)]
    axes = axes_as_tuple(each) if len(outer.args) > 1 else f"({each[0]},)"
    one_each = "Give one entry for each argument."
    if len(each) < len(outer.args):
        fix = fix or scene.advice(one_each)
    return scene.explanation(
        "vmap_in_axes",
        title="`in_axes` does not fit the arguments",
        what="`in_axes={axes}` has {entries}, and the call has {arguments}.".format(
            axes=text,
            entries=plural("{count} entry", "{count} entries", count),
            arguments=plural("{count} positional argument", "{count} positional arguments", int(found[2])),
        ),
        variable="in_axes",
        why="There is one entry of `in_axes` for each positional argument: its axis, or None to hand it over whole.",
        fixes=[fix or axes_fix(scene, made, one_each, axes)],
        link=VMAP_LINK,
    )


@explains(error_texts.VMAP_IN_AXES_KIND)
def axes_of_another_kind(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes={"x": 0}`, which needs a tuple around it."""
    made = scene.call()  # JAX raises this error before the mapped function is called
    given = axes_given(made) if made is not None else None
    if made is None or given is None:
        return None
    outer = scene.source.parents.get(made)
    place = function_behind(scene.spot, made.args[0]) if made.args else None
    count = len(parameters(place[1])) if place is not None else 0
    if isinstance(outer, ast.Call) and outer.func is made and not outer.keywords:
        count = len(outer.args)
    single = isinstance(given, ast.Dict) and count == 1
    fix = (
        axes_fix(scene, made, "Put it into a tuple with one entry for each argument.", f"({scene.quote(given)},)")
        if single
        else scene.advice("Give an int, or a tuple with one entry for each positional argument.")
    )
    return scene.explanation(
        "vmap_in_axes",
        title="`in_axes` is not an int or a tuple",
        what=f"`in_axes={scene.quote(given)}` is given.",
        variable="in_axes",
        why="There is one entry of `in_axes` for each positional argument; a dict is such an entry, for one argument.",
        fixes=[fix],
        link=VMAP_LINK,
    )


@explains(error_texts.VMAP_OUT_PREFIX)
def out_axes_of_a_tree(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `out_axes` with other parts than the result."""
    mapped = vmap_call(scene)
    keyword = next((k for k in mapped[1].keywords if k.arg == "out_axes"), None) if mapped is not None else None
    if keyword is None or mapped is None:
        return None
    inside = {n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant) and type(n.value) is int}
    return scene.explanation(
        "vmap_out_axes",
        title="`out_axes` has other parts than the result",
        what=f"`out_axes={scene.quote(keyword.value)}` is given.",
        variable="out_axes",
        why="`out_axes` is one axis for all of the result, or has the parts and keys that the function returns.",
        fixes=[
            scene.fix("Give one axis for all of it.", scene.source.replace(keyword.value, str(*inside)))
            if len(inside) == 1
            else scene.advice("Give an axis for each part of the result, in the same containers.")
        ],
        link=VMAP_LINK,
    )


def _shapes(scene: Scene, node: ast.expr) -> list[tuple[int, ...]] | None:
    """Return the shapes of an argument's leaves; None if they are not known."""
    value = scene.spot.value(node)
    if value is MISSING:
        made = made_with(scene, node)
        return [made] if made is not None else None
    return [np.shape(leaf) for leaf in jax.tree.leaves(value)]


def _mapped_sizes(scene: Scene, outer: ast.Call, axes: list[str]) -> set[int] | None:
    """Return the sizes of the axes that are mapped already; None if one is not known."""
    found: set[int] = set()
    for node, axis in zip(outer.args, axes, strict=False):
        if axis == "None":
            continue
        shapes = _shapes(scene, node)
        if shapes is None or not re.fullmatch(r"-?\d+", axis):
            return None
        found |= {shape[int(axis)] for shape in shapes if -len(shape) <= int(axis) < len(shape)}
    return found


def _axis_of(scene: Scene, node: ast.expr, sizes: set[int] | None) -> str | None:
    """Return the axis to map an argument over: '0' if its length is that of the others, 'None' if not; None if unknown.

    An argument without axes is not mapped, whatever the others are.
    """
    shapes = _shapes(scene, node)
    if shapes is None:
        return None
    if not all(shapes):
        return "None"
    if sizes is None:
        return None
    return "0" if all(shape[0] in sizes for shape in shapes) or not sizes else "None"


@explains(error_texts.VMAP_ALL_NONE)
def nothing_mapped(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes=None`."""
    mapped = vmap_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    shapes = [known_shape(scene, node) for node in outer.args]
    mappable = [number for number, shape in enumerate(shapes) if shape]
    words = "Give an axis, such as 0, for an argument that has a part for every call."
    fix: Fix | None = scene.advice(words)
    if len(mappable) == 1:
        axes = ["None"] * len(outer.args)
        axes[mappable[0]] = "0"
        words = f"Map over the first axis of `{scene.quote(outer.args[mappable[0]])}`."
        fix = axes_fix(scene, made, words, axes_as_tuple(axes))
    return scene.explanation(
        "vmap_nothing",
        title="`jax.vmap` has nothing to map over",
        what="Every entry of `in_axes` is None.",
        variable="in_axes",
        why="None hands an argument over whole; at least one must be taken apart, to say how many calls there are.",
        fixes=[fix],
        link=VMAP_LINK,
    )


@explains(error_texts.VMAP_OUT_NONE)
def result_is_batched(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `out_axes=None` for a result that differs from row to row."""
    mapped = vmap_call(scene)
    if mapped is None:
        return None
    _outer, made = mapped
    keyword = next((k for k in made.keywords if k.arg == "out_axes"), None)
    return scene.explanation(
        "vmap_out_axes",
        title="`out_axes=None` for a result that is mapped",
        what=f"The result of `{scene.quote(made.args[0])}` differs from call to call.",
        variable="out_axes",
        why="None says that all calls give the same; this result depends on the mapped argument.",
        fixes=[
            scene.fix(
                "Stack the results along an axis: 0 is the first.",
                scene.source.replace(keyword.value, "0") if keyword is not None else None,
            )
        ],
        link=VMAP_LINK,
    )


@explains(error_texts.VMAP_PREFIX)
def axes_of_a_tree(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes` with a dict whose keys differ from the argument's."""
    mapped = vmap_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    given = axes_given(made)
    if not isinstance(given, ast.Tuple) or len(given.elts) != len(outer.args):
        return None
    axes = [
        "0" if isinstance(element, ast.Dict | ast.List | ast.Tuple) else scene.quote(element) for element in given.elts
    ]
    tree = next(
        (i for i, element in enumerate(given.elts) if isinstance(element, ast.Dict | ast.List | ast.Tuple)), None
    )
    if tree is None:
        return None
    value, element = scene.spot.value(outer.args[tree]), given.elts[tree]
    completed = _completed(scene, value, element) if isinstance(element, ast.Dict) and isinstance(value, dict) else None
    fix = axes_fix(scene, made, "Give one axis for all of it.", axes_as_tuple(axes))
    if completed is not None:
        axes[tree] = completed
        whole = f"({', '.join(axes)},)" if len(axes) == 1 else f"({', '.join(axes)})"
        fix = axes_fix(scene, made, "Give an axis, or None, for every key of the argument.", whole)
    elif len(leading_sizes(value)) > 1 or _keeps_a_part(element):
        fix = scene.advice("Give an axis, or None, for every part of the argument.")
    return scene.explanation(
        "vmap_axes_of_a_tree",
        title="`in_axes` has other parts than the argument",
        what=f"`{scene.quote(given.elts[tree])}` is given for `{scene.quote(outer.args[tree])}`.",
        variable="in_axes",
        why="An entry of `in_axes` is one axis for the whole argument, or has the argument's own keys and parts.",
        fixes=[fix],
        link=VMAP_LINK,
    )


def _keeps_a_part(given: ast.expr) -> bool:
    """Return whether an entry of `in_axes` hands over a part whole, which one axis for all of it would not do."""
    return any(isinstance(node, ast.Constant) and node.value is None for node in ast.walk(given))


def _completed(scene: Scene, value: dict[Any, Any], given: ast.Dict) -> str | None:
    """Return a dict of axes with every key of an argument: new keys are mapped if they are as long as the others."""
    axes = {}
    for key, axis in zip(given.keys, given.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(axis, ast.Constant) or isinstance(axis.value, bytes):
            return None
        axes[key.value] = axis.value
    lengths = {
        np.shape(value[key])[0] for key, axis in axes.items() if axis == 0 and key in value and np.ndim(value[key])
    }
    entries = []
    for key, part in value.items():
        if not isinstance(key, str) or jax.tree.leaves(part) != [part]:
            return None
        same = np.ndim(part) > 0 and np.shape(part)[0] in lengths
        entries.append(f'"{key}": {axes.get(key, 0 if same else None)}')
    return "{" + ", ".join(entries) + "}"
