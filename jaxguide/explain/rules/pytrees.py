"""Explain pytrees used as arrays, trees of different structure, dicts of mixed keys, and arrays in auxiliary data."""

import ast
import re
from collections.abc import Mapping
from typing import Any

import jax

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Condition, Facts, Part, known
from jaxguide.explain.rewrites.masks import ENTRY_BY_ENTRY
from jaxguide.explain.rewrites.pytrees import (
    are_meant_as_trees,
    class_named,
    is_tree_map,
    is_tree_of_arrays,
    tree_map_around,
)
from jaxguide.explain.scene import called

_TREE_MAP = f"{error_texts.API}/jax.tree.map.html"
_PYTREES = "https://docs.jax.dev/en/latest/pytrees.html"
_LEAF_BY_LEAF = "Do it leaf by leaf: `jax.tree.map`."


# A None or a container where `jax.tree.map` meets an array in the first tree.


def _parameters(facts: Facts) -> dict[str, Any]:
    """Find the parameters of the running function, with their values."""
    function = facts.scene.spot.function
    names = [one.arg for one in function.args.args] if function is not None else []
    return {name: facts.scene.spot.frame.f_locals.get(name, MISSING) for name in names}


def _odd_one(facts: Facts) -> str | None:
    values = _parameters(facts) if tree_map_around(facts.scene) is not None else {}
    return next((name for name, one in values.items() if one is None or isinstance(one, dict | list | tuple)), None)


def _odd_leaf(facts: Facts) -> Part | str:
    """Look at the leaf of another kind, where it is in its tree."""
    spot, call = known(tree_map_around(facts.scene))
    value, number = _parameters(facts)[facts["odd"]], list(_parameters(facts)).index(facts["odd"])
    tree = facts.at(known(call.args[number + 1 :])[0], spot)
    leaves = jax.tree_util.tree_leaves_with_path(tree.value, is_leaf=lambda part: part is value)
    path = next((jax.tree_util.keystr(path) for path, leaf in leaves if leaf is value), None)
    return Part(tree.node, tree.source, facts.scene, spot, path, value) if path else str(facts["odd"])


def _is_not_first(facts: Facts) -> bool:
    return str(facts["odd"]) != next(iter(_parameters(facts)))


entry(
    "leaf_of_another_kind",
    structure_texts.CONTAINER_OPERAND,
    x=_odd_leaf,
    odd=_odd_one,
    first=lambda facts: next(iter(_parameters(facts))),
    where=lambda facts: ", where the first tree has an array" if _is_not_first(facts) else "",
    body=lambda facts: facts.scene.spot.function.body if isinstance(facts.scene.spot.function, ast.Lambda) else None,
    when=probes.is_written("node", ast.BinOp),
    title="`jax.tree.map` met a leaf of another kind",
    what="`{x}` is {x.what} here{where}.",
    why="The first tree decides where the leaves are; the others may have anything there, and it is handed over.",
    fixes=[
        Either(
            Swap(
                "Leave a leaf as it is if there is nothing to do with it.",
                when=lambda facts: _is_not_first(facts) and facts["x"].value is None,
                body="{first} if {odd} is None else {body}",
            ),
            Words(
                "Give an array there too, such as zeros, or test `{odd} is None`.",
                when=lambda facts: facts["x"].value is None,
            ),
            "Map over trees of the same structure: take the part that belongs to each leaf.",
        )
    ],
    link=_TREE_MAP,
)


# Arithmetic on trees.


def _tree_operand(facts: Facts) -> ast.expr | None:
    node = facts.scene.node
    parts = _operands(node) if isinstance(node, ast.BinOp | ast.UnaryOp) else []
    return next((one for one in parts if is_tree_of_arrays(facts.scene.spot.value(one))), None)


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [*_operands(node.left), *_operands(node.right)]
    return _operands(node.operand) if isinstance(node, ast.UnaryOp) else [node]  # type: ignore[list-item]


def _whole(facts: Facts) -> ast.AST:
    """Look at the outermost arithmetic expression."""
    node, parents = facts.scene.node, facts.scene.source.parents
    while isinstance(parents.get(node), ast.BinOp | ast.UnaryOp):
        node = parents[node]
    return node


def _trees(facts: Facts) -> dict[str, Any]:
    """Find the trees in the whole expression."""
    values = {facts.scene.quote(one): facts.scene.spot.value(one) for one in _operands(facts.node("whole"))}
    return {text: value for text, value in values.items() if is_tree_of_arrays(value)}


def _key_too(facts: Facts) -> str | None:
    """Say the key of which another operand has the item, in `params[k] - grads` or `for k, p in params.items()`."""
    tree = facts["x"].value
    for part in _operands(facts.node("whole")):
        key, holder = (part.slice, part.value) if isinstance(part, ast.Subscript) else _item_of(facts, part)
        table = facts.scene.spot.value(holder)
        if isinstance(tree, dict) and isinstance(table, dict) and set(table) == set(tree):
            return facts.scene.quote(key)
    return None


def _item_of(facts: Facts, part: ast.expr) -> tuple[Any, ast.expr | None]:
    """Find the key, and the dict, if a name is a value of the `items()` that a loop goes through."""
    loop = probes.loop_of(facts, part)
    names = getattr(loop.target, "elts", []) if loop is not None and called(loop.iter) == "items" else []
    return (names[0], loop.iter.func.value) if len(names) == 2 else (None, None)  # type: ignore[union-attr]


def _mapped(facts: Facts) -> str | None:
    """Say the whole expression, mapped over the leaves of its trees."""
    parts, value = _operands(facts.node("whole")), facts.scene.spot.value
    if any(isinstance(part, ast.Name) and value(part) is MISSING for part in parts):
        return None
    trees, text, letters = facts["trees"], str(facts["whole"]), list[str]()
    for tree in trees:
        start = (re.findall(r"[a-z]", tree.lower()) or ["x"])[0]
        taken = {*letters, *(names_in(facts.node("whole")) - set(trees))}
        letters.append(next(one for one in (start, *"pqrstuvwxyz") if one not in taken))
        text = re.sub(rf"(?<![\w.]){re.escape(tree)}(?!\w)", letters[-1], text)
    return f"{facts['jax']}.tree.map(lambda {', '.join(letters)}: {text}, {', '.join(trees)})"


def _are_alike(facts: Facts) -> bool:
    """Ask whether all trees have one structure, and what is between them are numbers or arrays."""
    values = [facts.scene.spot.value(one) for one in _operands(facts.node("whole"))]
    others = [value for value in values if not is_tree_of_arrays(value)]
    plain = all(is_array(value) or isinstance(value, int | float | complex) for value in others)
    return plain and len({jax.tree.structure(tree) for tree in facts["trees"].values()}) == 1


entry(
    "arithmetic_on_trees",
    structure_texts.CONTAINER_OPERAND,
    x=_tree_operand,
    whole=_whole,
    trees=_trees,
    key=_key_too,
    mapped=_mapped,
    when=lambda facts: tree_map_around(facts.scene) is None and are_meant_as_trees(list(facts["trees"].values())),
    title="Arithmetic on a container of arrays",
    what="`{x}` is {x.what} here, and its leaves are arrays.",
    why="Operators work on arrays; a pytree such as a dict or a list of arrays is changed leaf by leaf.",
    fixes=[
        Either(
            Swap("Take the item `{key}` of it too.", x="{x.atom}[{key}]"),
            Swap(_LEAF_BY_LEAF, when=_are_alike, whole="{mapped}"),
            Code(_LEAF_BY_LEAF, "{mapped}"),
            _LEAF_BY_LEAF,
        )
    ],
    link=_TREE_MAP,
)


# Trees that differ.


def _mapped_part(facts: Facts, number: int) -> Part | None:
    """Look at the part of a mapped tree at the path where JAX found a difference."""
    call, path = facts.call(), facts["g2"].strip()
    tree = facts.at(call.args[number]) if is_tree_map(call) and number < len(call.args) else None
    held = probes.value_at(tree.value_or_missing, path) if tree is not None else MISSING
    return None if tree is None or held is MISSING else Part(tree.node, tree.source, facts.scene, tree.spot, path, held)


def _differing_part(facts: Facts) -> Part | None:
    """Look at the part of another tree that has other children than that of the first one."""
    parts = [_mapped_part(facts, number) for number in range(2, len(facts.call().args))]
    return next((part for part in parts if part is not None and not _fit(facts["one"].value, part.value)), None)


def _fit(first: Any, other: Any) -> bool:
    """Return whether two parts of trees have the same children."""
    if isinstance(first, dict):
        return type(first) is type(other) and set(first) == set(other)
    if isinstance(first, list | tuple):
        return type(first) is type(other) and len(first) == len(other)
    return (first is None) == (other is None) and not isinstance(other, dict | list | tuple)


def _keys_of_one(facts: Facts) -> str | None:
    """Say the keys that one of two dicts has only."""
    (one, first), (two, second) = ((str(facts[name]), facts[name].value) for name in ("one", "x"))
    if not isinstance(first, dict) or not isinstance(second, dict):
        return None
    only = [f"`{one}[{key!r}]`" for key in first if key not in second]
    return ", ".join([*only, *(f"`{two}[{key!r}]`" for key in second if key not in first)][:3])


def _from_outside(facts: Facts) -> str | None:
    """Say the function of one tree that uses a number from outside, in place of `lambda p, l: p * l`."""
    function, x = facts.node("function"), facts["x"]
    names = [one.arg for one in function.args.args] if isinstance(function, ast.Lambda) else []
    if len(names) != 2 or len(facts.call().args) != 3 or not isinstance(x.node, ast.Name | ast.Constant):
        return None
    body = re.sub(rf"\b{re.escape(names[1])}\b", str(x), facts.scene.quote(function.body))
    return f"lambda {names[0]}: {body}" if str(x) != names[0] else None


def _is_for_all_leaves(facts: Facts) -> bool:
    value = facts["x"].value
    return isinstance(value, int | float | complex) or (is_array(value) and not facts["x"].path)


def _are(facts: Facts, kinds: Any) -> bool:
    """Ask whether two parts are containers of these kinds, and of different ones."""
    one, other = facts["one"].value, facts["x"].value
    return type(one) is not type(other) and isinstance(one, kinds) and isinstance(other, kinds)


_SAME_KEYS = "Give both trees the same keys and lengths, for instance by making one from the other."
entry(
    "trees_differ",
    structure_texts.TREES_DIFFER,
    x=_differing_part,
    one=lambda facts: _mapped_part(facts, 1),
    function=probes.argument(0),
    leaves=probes.keyword("is_leaf"),
    only=_keys_of_one,
    from_outside=_from_outside,
    title="`jax.tree.map` was given trees of different structure",
    what=("{only} is in one of the trees only.", "`{one}` is {one.what}, and `{x}` is {x.what}."),
    why="The function gets the leaves of all trees at one place, so every tree has the parts of the first one.",
    fixes=[
        Either(
            Either(
                Swap(
                    "Let None count as a leaf.",
                    when=lambda facts: "None" in str(facts["function"]),
                    call="{f}({given}, is_leaf=lambda leaf: leaf is None)",
                ),
                "Let None count as a leaf with `is_leaf=lambda leaf: leaf is None`, and test for it.",
                when=lambda facts: facts["one"].value is None and not facts.knows("leaves"),
            ),
            Either(
                Swap(
                    "Use the number inside the function: it is the same for all leaves.",
                    call="{f}({from_outside}, {one})",
                ),
                "Use a number that is the same for all leaves from outside.",
                when=_is_for_all_leaves,
            ),
            Words(
                "Use one kind of container in both trees: for JAX, a `{one.type}` is not a `{x.type}`.",
                when=lambda facts: _are(facts, list | tuple) or _are(facts, Mapping),
            ),
            _SAME_KEYS,
        )
    ],
    link=_TREE_MAP,
)
_COMPARED_BY_JAX: dict[str, Any] = {
    "x": probes.function,
    "path": lambda facts: facts["g2"].strip() or None,
    "place": probes.one_of(probes.words("`{path}`"), lambda facts: "the root"),
    "types": lambda facts: [one.split(".")[-1] for one in structure_texts.SUBTREE_TYPES.findall(facts.scene.message)],
    "title": "`{x}` was given trees of different structure",
    "variable": ("{path}", "{x}"),
    "why": "The leaves of all trees at one place belong together, so every tree has the parts of the first one.",
    "link": _TREE_MAP,
}
entry(
    "trees_differ",
    structure_texts.TREES_DIFFER,
    when=lambda facts: len(set(facts["types"])) == 2,
    what="At {place}, one tree has a `{types[0]}`, and another has a `{types[1]}`.",
    fixes=["Use one kind of container in both trees: for JAX, a `{types[0]}` is not a `{types[1]}`."],
    **_COMPARED_BY_JAX,
)
entry(
    "trees_differ",
    structure_texts.TREES_DIFFER,
    what="JAX found {g1} at {place}.",
    fixes=[_SAME_KEYS],
    **_COMPARED_BY_JAX,
)


# Dicts and classes that JAX cannot take apart.


def _cannot_be_sorted(value: Any) -> bool:
    try:
        sorted(value if isinstance(value, dict) else ())
    except TypeError:
        return True
    return False


def _keys_of_several_types(facts: Facts) -> str:
    keys = {type(key): key for key in reversed(list(facts["x"].value))}
    return ", ".join(repr(key) for key in [*keys.values()][::-1][:3])


def _class_given(facts: Facts) -> str | None:
    """Say the only class of the student's of which an object is given in the call; JAX names none up to 0.10."""
    given = [(one, type(facts.scene.spot.value(one)).__name__) for one in facts.call().args]
    names = {called(one) if isinstance(one, ast.Call) else name for one, name in given}
    known_ones = {name for name in names if class_named(facts.scene, name)[1] is not None}
    return known_ones.pop() if len(known_ones) == 1 else None


def _array_in_metadata(facts: Facts) -> str | None:
    """Say the attribute of the registered object that is an array and not among its leaves."""
    values = [value for _node, value in facts.scene.spot.parts(facts.scene.node)]
    held = next((value for value in values if type(value).__name__ == facts["x"]), None)
    leaves = {id(leaf) for leaf in jax.tree.leaves(held)}
    parts = getattr(held, "__dict__", {})
    return next((name for name, part in parts.items() if is_array(part) and id(part) not in leaves), None)


entry(
    "mixed_keys",
    structure_texts.MIXED_KEYS,
    x=probes.container(_cannot_be_sorted),
    keys=_keys_of_several_types,
    kinds=lambda facts: " and ".join(dict.fromkeys(type(key).__name__ for key in facts["x"].value)),
    title="A dict whose keys cannot be sorted",
    what="Among the keys of `{x}` are {keys}: {kinds}.",
    why="JAX sorts the keys of a dict, so that equal dicts have their leaves in the same order.",
    fixes=['Use keys of one type, such as the texts `f"layer{{i}}"` in place of numbers.'],
    link=_PYTREES,
)
entry(
    "array_in_metadata",
    structure_texts.ARRAY_IN_METADATA,
    x=lambda facts: facts["g1"].split(".")[-1] if facts.knows("g1") else _class_given(facts),
    array=_array_in_metadata,
    title="Auxiliary data of a pytree that cannot be compared",
    what=(
        "The auxiliary data of `{x}` holds an array: `{array}`.",
        "The auxiliary data of `{x}` cannot be compared with `==`, as with an array in it.",
    ),
    why="JAX compares auxiliary data with `==` from call to call; `==` of two arrays is not a single truth value.",
    fixes=["Make the array a child, a data field; or, if it must be static, keep a tuple of its numbers."],
    link=_PYTREES,
)


# Trees in place of arrays.


def _is_tree_for_array(facts: Facts) -> bool:
    value = facts.value("x")
    if value is MISSING:
        return isinstance(facts.node("x"), ast.Dict)
    return is_tree_of_arrays(value) and are_meant_as_trees([value])


def _alone(*names: str) -> Condition:
    """Ask whether one of these functions is called with the tree alone."""
    return lambda facts: facts["rest"] == "" and facts["f"].name in names


def _contains(facts: Facts) -> bool:
    return isinstance(facts["comparison"].node.ops[0], ast.In | ast.NotIn)


_LEAVES: dict[str, Any] = {
    "what": ("`{x}` is {x.what} here, and its leaves are arrays.", "`{x}` is a dict here."),
    "link": _TREE_MAP,
}
entry(
    "tree_for_array",
    structure_texts.TREE_FOR_ARRAY,
    x=probes.argument(0),
    when=[_is_tree_for_array, lambda facts: facts["f"].name == facts["g1"]],
    title="`{f}` was given a tree of arrays",
    why="`{f}` works on one array, and the leaves have shapes of their own.",
    fixes=[
        Swap(_LEAF_BY_LEAF, when=_alone(*ENTRY_BY_ENTRY), call="{jax}.tree.map({f}, {x})"),
        Swap(
            "Add up the sums of all leaves.",
            when=_alone("sum"),
            call="sum({f}(leaf) for leaf in {jax}.tree.leaves({x}))",
        ),
        Swap(
            "Take the norm of all leaves together.",
            when=_alone("norm"),
            call="{jnp}.sqrt(sum({jnp}.sum(leaf**2) for leaf in {jax}.tree.leaves({x})))",
        ),
    ],
    otherwise=["Do it leaf by leaf: `jax.tree.map`, or go through `jax.tree.leaves`."],
    **_LEAVES,
)
_COMPARED: dict[str, Any] = {
    "x": probes.operand(1),
    "comparison": lambda facts: getattr(facts.scene.node, "test", facts.scene.node),
    "title": "Containers of arrays compared as a whole",
    "why": "Python compares the leaves with `==`, which gives an array, and then asks for one truth value.",
    **_LEAVES,
}
entry(
    "trees_compared",
    structure_texts.COMPARED,
    when=[probes.is_written("comparison", ast.Compare), lambda facts: is_tree_of_arrays(facts.value("x")), _contains],
    fixes=[
        "Say what is meant: the same array, `any(item is {left} for item in {x})`, or equal numbers, with "
        "`jnp.array_equal`."
    ],
    **_COMPARED,
)
entry(
    "trees_compared",
    structure_texts.COMPARED,
    when=[
        probes.is_written("comparison", ast.Compare),
        lambda facts: is_tree_of_arrays(facts.value("x")) and is_tree_of_arrays(facts.value("left")),
    ],
    equal=probes.words("{jax}.tree.all({jax}.tree.map({jnp}.array_equal, {left}, {x}))"),
    new=lambda facts: facts.say(
        "(not {equal})" if isinstance(facts["comparison"].node.ops[0], ast.NotEq) else "{equal}"
    ),
    fixes=[
        Either(
            Swap(
                "Compare leaf by leaf.",
                when=lambda facts: len({jax.tree.structure(facts.value(name)) for name in ("left", "x")}) == 1,
                comparison="{new}",
            ),
            Code("Compare leaf by leaf.", "{new}"),
        )
    ],
    **_COMPARED,
)
