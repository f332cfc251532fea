"""Explain arguments that `jax.vmap` cannot map: axes that are missing, numbers in trees, lists of records."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.user_frame import MISSING, UserFrame, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.mapped_axes import (
    VMAP_LINK,
    axes_as_tuple,
    axes_fix,
    axes_written,
    is_container,
    is_of_numbers,
    keywords_are_mapped,
    vmap_call,
)
from jaxguide.explain.rewrites.written_shapes import known_shape
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.jaxpr.value_words import describe


@explains(error_texts.VMAP_RANK)
def axis_missing(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an axis that an argument does not have, such as any axis of a scalar."""
    mapped = vmap_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    axis, rank = int(found[1]), int(found[2])
    axes = axes_written(made, len(outer.args))
    listed = next((argument for argument in outer.args if _records(scene.spot.value(argument))), None)
    if listed is not None and rank == 0:
        return _list_of_records(scene, listed)
    trees = [i for i, argument in enumerate(outer.args) if is_container(scene.spot.value(argument))]
    if trees and axis == 0 and rank == 0 and not outer.keywords:
        return _scalar_leaf(scene, outer, made, trees[0])
    if outer.keywords or (made.args and isinstance(made.args[0], ast.Call)):
        return _keyword_mapped(scene, outer) if axis == 0 and rank == 0 else None
    position = 0 if len(outer.args) == 1 else None
    for i, argument in enumerate(outer.args):
        value = scene.spot.value(argument)
        ndim = getattr(value, "ndim", 0 if isinstance(value, int | float | complex) else None)
        if ndim is not None and axes[i] == str(axis) and ndim == rank:
            position = i
            break
    values = [scene.spot.value(argument) for argument in outer.args]
    numbers = [
        i for i, v in enumerate(values) if isinstance(v, list | tuple) and axes[i] == str(axis) and is_of_numbers(v)
    ]
    if rank == 0 and len(numbers) == 1:
        return _list_given(scene, outer.args[numbers[0]])
    alone = [i for i, given in enumerate(axes) if given == str(axis)]
    if position is None and len(alone) == 1:
        position = alone[0]
    if position is None:
        return None
    node = outer.args[position]
    text, value, shape = scene.quote(node), scene.spot.value(node), known_shape(scene, node)
    if not isinstance(value, int | float | complex) and (shape is None or len(shape) != rank):
        known = value is not MISSING and axis == 0 and rank == 0
        return _scalar_leaf(scene, outer, made, position) if known else None
    whole = [*axes]
    whole[position] = "None" if rank == 0 else "0"
    fixes = []
    if rank == 0 and len(outer.args) > 1:
        fixes.append(axes_fix(scene, made, f"Hand `{text}` whole to every call.", axes_as_tuple(whole)))
    elif rank:
        fixes.append(axes_fix(scene, made, "Map over an axis that it has: 0 is the first.", axes_as_tuple(whole)))
    else:
        fixes.append(
            scene.fix(
                "One number needs no `vmap`: call the function itself.",
                scene.source.replace(made, scene.atom(made.args[0])) if made.args else None,
            )
        )
    return scene.explanation(
        "vmap_axis",
        title="`jax.vmap` maps over an axis that is not there",
        what=scene.what(text, value)
        if is_array(value)
        else plural("`{name}` has {count} axis.", "`{name}` has {count} axes.", rank, name=text),
        variable=text,
        why=f"Axis {axis} was asked for, and it has {rank}: `jax.vmap` takes an axis away from each argument.",
        fixes=fixes,
        link=VMAP_LINK,
    )


def _records(value: Any) -> bool:
    """Return whether a value is a list of dicts, tuples or other trees of one structure, one for each call."""
    if not isinstance(value, list) or len(value) < 2 or any(is_array(one) or not is_container(one) for one in value):
        return False
    return len({jax.tree.structure(one) for one in value}) == 1


def _stacked(scene: Scene, node: ast.expr) -> Fix | None:
    """Return the fix that makes one tree of arrays out of a list of trees."""
    text = f"{scene.jax}.tree.map(lambda *leaves: {scene.jnp}.stack(leaves), *{scene.atom(node)})"
    return scene.fix(
        "Stack them into one tree of arrays, whose first axis counts them.", scene.source.replace(node, text)
    )


def _list_of_records(scene: Scene, node: ast.expr, spot: UserFrame | None = None) -> Explanation | None:
    """Explain `jax.vmap(f)([{"a": 1.0}, {"a": 2.0}])`."""
    text = scene.quote(node) if spot is None else spot.quote(node)
    value = scene.spot.value(node) if spot is None else spot.value(node)
    return scene.explanation(
        "vmap_of_records",
        title="`jax.vmap` was given a list to go through",
        what=f"`{text}` is {describe(value)} here.",
        variable=text,
        why="`jax.vmap` maps over an axis of every array, not over the items of a list: a list is a pytree for JAX.",
        fixes=[_stacked(scene, node)],
        link=VMAP_LINK,
        line=spot.line if spot is not None else None,
    )


@explains(error_texts.LIST_BY_KEY)
def item_of_a_list(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `p["w"]` in a mapped function if `p` is the whole list of dicts."""
    node = scene.node
    if not isinstance(node, ast.Subscript) or len(scene.spots) < 2:
        return None
    value, spot = scene.spot.value(node.value), scene.spots[-2]
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    if not isinstance(value, list) or call is None or spot.source is not scene.source:
        return None
    traced = any(is_tracer(leaf) and scene.under(leaf) == "jax.vmap" for leaf in jax.tree.leaves(value))
    given = [a for a in call.args if _records(spot.value(a)) and len(spot.value(a)) == len(value)]
    return _list_of_records(scene, given[0], spot) if traced and len(given) == 1 else None


def _scalar_leaf(scene: Scene, outer: ast.Call, made: ast.Call, position: int) -> Explanation | None:
    """Explain a number among the leaves of a mapped dict, tuple or other pytree."""
    node = outer.args[position]
    value, axes = scene.spot.value(node), axes_written(made, len(outer.args))
    leaves = jax.tree_util.tree_flatten_with_path(value)[0]
    scalars = [jax.tree_util.keystr(path) for path, leaf in leaves if np.ndim(leaf) == 0]
    if not scalars or len(scalars) == len(leaves) or axes[position] != "0":
        return None
    each, own = [*axes], _axes_text(value)
    each[position] = own or ""
    text = f"({', '.join(each)},)" if len(each) == 1 else f"({', '.join(each)})"
    name = f"{scene.quote(node)}{scalars[0]}"
    words = f"Hand `{name}` whole to every call."
    return scene.explanation(
        "vmap_axis",
        title="`jax.vmap` maps over an axis that is not there",
        what=f"`{name}` is one number, of shape ().",
        variable=name,
        why="`jax.vmap` takes an axis away from every leaf of an argument, and this one has none.",
        fixes=[
            axes_fix(scene, made, words, text) if own is not None else None,
            scene.advice(
                f"Hand `{name}` whole to every call: make its entry of `in_axes` such a tree, with None there."
            )
            if own is None
            else None,
        ],
        link=VMAP_LINK,
    )


def _axes_text(value: Any) -> str | None:
    """Return an entry of `in_axes` for a tree: 0 for its arrays, None for its numbers.

    None for a tree with other containers than dicts, lists and tuples.
    """
    if type(value) is dict:
        entries = {k: _axes_text(v) for k, v in value.items()}
        keys = {k: f'"{k}"' if isinstance(k, str) else repr(k) for k in entries}
        inside = ", ".join(f"{keys[k]}: {text}" for k, text in entries.items())
        return None if None in entries.values() else "{" + inside + "}"
    if type(value) in (list, tuple):
        parts = [_axes_text(entry) for entry in value]
        inside, comma = ", ".join(map(str, parts)), "," if len(value) == 1 else ""
        if None in parts:
            return None
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{comma})"
    if not jax.tree_util.all_leaves([value]):
        return None
    return "0" if np.ndim(value) else "None"


def _keyword_mapped(scene: Scene, outer: ast.Call) -> Explanation | None:
    """Explain a number given by keyword, which `jax.vmap` maps too."""
    odd = [k for k in outer.keywords if k.arg is not None and isinstance(scene.spot.value(k.value), int | float)]
    if len(odd) != 1:
        return None
    name = odd[0].arg or ""
    return scene.explanation(
        "vmap_keyword",
        title="`jax.vmap` maps over arguments given by keyword too",
        what=f"`{name}` is one number, of shape ().",
        variable=name,
        why=keywords_are_mapped(),
        fixes=[
            scene.advice(
                f"Give `{name}` by position, with None in `in_axes`; or bind it before, with `functools.partial`."
            )
        ],
        link=VMAP_LINK,
    )


def _list_given(scene: Scene, node: ast.expr) -> Explanation | None:
    """Explain `jax.vmap(f)([1.0, 2.0])`."""
    text = scene.quote(node)
    return scene.explanation(
        "vmap_of_a_list",
        title="`jax.vmap` was given a list of numbers",
        what=scene.what(text, scene.spot.value(node)),
        variable=text,
        why="A list is a pytree of numbers for JAX, and `jax.vmap` looks for an axis in each of them.",
        fixes=[scene.fix("Make one array of it.", scene.source.replace(node, f"{scene.jnp}.array({text})"))],
        link=VMAP_LINK,
    )
