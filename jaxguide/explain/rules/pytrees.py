"""Explain pytrees used as arrays, trees of different structure, dicts of mixed keys, and arrays in auxiliary data."""

import ast
from dataclasses import replace
from functools import partial
from typing import Any

import jax

from jaxguide.code.source import arguments_of
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, known
from jaxguide.explain.rewrites.pytrees import (
    are_meant_as_trees,
    class_named,
    is_tree_map,
    is_tree_of_arrays,
    tree_map_around,
)
from jaxguide.explain.scene import called

_tree = partial(
    entry,
    what="`{x}` is {x.what} here, and its leaves are arrays.",
    link=f"{error_texts.API}/jax.tree.map.html",
)
_PYTREES = "https://docs.jax.dev/en/latest/pytrees.html"


def _odd_leaf(facts: Facts) -> Part:
    """Look at a leaf that is no array, of the trees that `jax.tree.map` takes: where it is in its tree."""
    spot, call = known(tree_map_around(facts.scene))
    function, values = facts.scene.spot.function, facts.scene.spot.frame.f_locals
    names = arguments_of(function) if function is not None else []
    leaves = [(tree, values.get(name, MISSING)) for tree, name in zip(call.args[1:], names, strict=False)]
    found = [(tree, leaf) for tree, leaf in leaves if leaf is None or isinstance(leaf, dict | list | tuple)]
    tree, odd = known(next(iter(found), None))
    whole = facts.at(tree, spot)
    places = jax.tree.leaves_with_path(whole.value, is_leaf=lambda part: part is odd)
    path = known(next((path for path, leaf in places if leaf is odd), None))
    return replace(whole, path=jax.tree_util.keystr(path), held=odd)


_tree(
    "leaf_of_another_kind",
    structure_texts.CONTAINER_OPERAND,
    x=_odd_leaf,
    when=probes.is_written("node", ast.BinOp),
    title="`jax.tree.map` met a leaf of another kind",
    what="`{x}` is {x.what} here.",
    why="The first tree decides where the leaves are; the others may have anything there, and it is handed over.",
    fixes=Either(
        Words("Give an array there too, such as zeros, or test for None.", when=probes.is_valued("x", type(None))),
        "Map over trees of the same structure: take the part that belongs to each leaf.",
    ),
)


_tree(
    "arithmetic_on_trees",
    structure_texts.CONTAINER_OPERAND,
    x=probes.first(is_tree_of_arrays),
    values=lambda facts: [value for _part, value in facts.scene.spot.parts(facts.scene.node)],
    when=lambda facts: (
        tree_map_around(facts.scene) is None and are_meant_as_trees([*filter(is_tree_of_arrays, facts["values"])])
    ),
    title="Arithmetic on a container of arrays",
    why="Operators work on arrays; a pytree such as a dict or a list of arrays is changed leaf by leaf.",
    fixes="Do it leaf by leaf, such as `{jax}.tree.map(lambda a, b: a - b, first, second)`; or take the part of `{x}` "
    "that belongs to the other operand.",
)


def _parts(facts: Facts) -> list[Part]:
    """Look at the parts of the trees that `jax.tree.map` takes, at the path where JAX found a difference."""
    trees = [facts.at(one) for one in facts.call().args[1:]] if is_tree_map(facts.call()) else []
    path = facts["g2"].strip()
    parts = [replace(tree, path=path, held=probes.value_at(tree.value_or_missing, path)) for tree in trees]
    return [part for part in parts if part.value_or_missing is not MISSING]


def _children(value: Any) -> Any:
    return jax.tree.structure(value, is_leaf=lambda part: part is not value)


_tree(
    "trees_differ",
    structure_texts.TREES_DIFFER,
    x=probes.one_of(probes.fact("other"), probes.fact("path"), probes.function),
    path=lambda facts: facts["g2"].strip() or None,
    parts=_parts,
    one=lambda facts: next(iter(facts["parts"]), None),
    other=lambda facts: next(
        (part for part in facts["parts"] if _children(part.value) != _children(facts["one"].value)), None
    ),
    keys=probes.said(structure_texts.SUBTREE_KEYS),
    types=probes.said(structure_texts.SUBTREE_TYPES),
    title="`{f}` was given trees of different structure",
    what=(
        "`{one}` has the keys {keys[1]}, and `{other}` has {keys[2]}.",
        "`{one}` is {one.what}, and `{other}` is {other.what}.",
        "JAX found {g1}.",
    ),
    why="The function gets the leaves of all trees at one place, so every tree has the parts of the first one.",
    fixes=Either(
        Either(
            Swap(
                "Let None count as a leaf.",
                when=lambda facts: "None" in facts["given"],
                call="{f}({given}, is_leaf=lambda leaf: leaf is None)",
            ),
            "Let None count as a leaf with `is_leaf=lambda leaf: leaf is None`, and test for it.",
            when=lambda facts: facts["one"].value is None and "is_leaf" not in facts["given"],
        ),
        Words(
            "Use a number that is the same for all leaves from outside.",
            when=lambda facts: facts["other"].path == "" and jax.tree_util.all_leaves([facts["other"].value]),
        ),
        "Use one kind of container in both trees: for JAX, a `{types[1]}` is not a `{types[2]}`.",
        "Give both trees the same keys and lengths, for instance by making one from the other.",
    ),
)


def _class_given(facts: Facts) -> str | None:
    """Say the only class of the student's of which an object is given in the call; JAX names none up to 0.10."""
    names = {called(one) or type(facts.scene.spot.value(one)).__name__ for one in facts.call().args}
    found = [name for name in names if class_named(facts.scene, name)[1] is not None]
    return found[0] if len(found) == 1 else None


entry(
    "mixed_keys",
    structure_texts.MIXED_KEYS,
    x=probes.container(lambda value: isinstance(value, dict) and len({type(key) for key in value}) > 1),
    examples=lambda facts: {type(key).__name__: repr(key) for key in reversed(facts["x"].value)},
    keys=lambda facts: ", ".join(reversed(facts["examples"].values())),
    kinds=lambda facts: " and ".join(reversed(facts["examples"])),
    title="A dict whose keys cannot be sorted",
    what="Among the keys of `{x}` are {keys}: {kinds}.",
    why="JAX sorts the keys of a dict, so that equal dicts have their leaves in the same order.",
    fixes='Use keys of one type, such as the texts `f"layer{{i}}"` in place of numbers.',
    link=_PYTREES,
)
entry(
    "array_in_metadata",
    structure_texts.ARRAY_IN_METADATA,
    x=lambda facts: facts["g1"].split(".")[-1] if facts.knows("g1") else _class_given(facts),
    title="Auxiliary data of a pytree that cannot be compared",
    what="The auxiliary data of `{x}` cannot be compared with `==`, as with an array in it.",
    why="JAX compares auxiliary data with `==` from call to call; `==` of two arrays is not a single truth value.",
    fixes="Make the array a child, a data field; or, if it must be static, keep a tuple of its numbers.",
    link=_PYTREES,
)


_tree(
    "tree_for_array",
    structure_texts.TREE_FOR_ARRAY,
    x=probes.argument(0),
    when=[
        lambda facts: facts["f"].name == facts["g1"],
        lambda facts: is_tree_of_arrays(facts["x"].value) and are_meant_as_trees([facts["x"].value]),
    ],
    title="`{f}` was given a tree of arrays",
    why="`{f}` works on one array, and the leaves have shapes of their own.",
    fixes="Do it leaf by leaf: `jax.tree.map`, or go through `jax.tree.leaves`.",
)


def _looks_inside(facts: Facts) -> bool:
    return isinstance(facts.node("comparison").ops[0], ast.In | ast.NotIn)


_tree(
    "trees_compared",
    structure_texts.COMPARED,
    x=probes.operand(1),
    comparison=lambda facts: getattr(facts.scene.node, "test", facts.scene.node),
    when=[
        probes.is_written("comparison", ast.Compare),
        lambda facts: is_tree_of_arrays(facts.value("x")),
        lambda facts: _looks_inside(facts) or is_tree_of_arrays(facts.value("left")),
    ],
    negation=lambda facts: "not " if isinstance(facts.node("comparison").ops[0], ast.NotEq) else "",
    title="Containers of arrays compared as a whole",
    why="Python compares the leaves with `==`, which gives an array, and then asks for one truth value.",
    fixes=Either(
        Words(
            "Say what is meant: the same array, `any(item is {left} for item in {x})`, or equal numbers, with "
            "`jnp.array_equal`.",
            when=_looks_inside,
        ),
        Swap(
            "Compare leaf by leaf.",
            when=lambda facts: len({jax.tree.structure(facts.value(name)) for name in ("left", "x")}) == 1,
            or_say=True,
            comparison="{negation}{jax}.tree.all({jax}.tree.map({jnp}.array_equal, {left}, {x}))",
        ),
    ),
)
