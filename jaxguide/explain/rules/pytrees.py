"""Explain pytrees used as arrays, trees of different structure, dicts of mixed keys, and arrays in auxiliary data."""

import ast
import re
from typing import Any

import jax

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, UserFrame, is_array
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.masks import ENTRY_BY_ENTRY
from jaxguide.explain.rewrites.pytrees import (
    are_meant_as_trees,
    class_named,
    is_tree_map,
    is_tree_of_arrays,
    tree_map_around,
)
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.jaxpr.value_words import describe

_TREE_MAP = f"{error_texts.API}/jax.tree.map.html"
_PYTREES = "https://docs.jax.dev/en/latest/pytrees.html"


@explains(structure_texts.CONTAINER_OPERAND)
def arithmetic_on_trees(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `params - 0.1 * grads`, where `params` and `grads` are dicts, lists or other pytrees."""
    node = scene.node
    inside = tree_map_around(scene)
    if inside is not None and isinstance(node, ast.BinOp):
        return _leaf_of_another_kind(scene, node, *inside)
    if not isinstance(node, ast.BinOp | ast.UnaryOp):
        return None
    operands = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
    trees = [(part, value) for part in operands if is_tree_of_arrays(value := scene.spot.value(part))]
    if not trees:
        return None
    whole = _whole_expression(scene, node)
    parts = _operands(whole)
    values = [scene.spot.value(part) for part in parts]
    known = [value for value in values if is_tree_of_arrays(value)]
    if not are_meant_as_trees(known):
        return None
    name, value = scene.quote(trees[0][0]), trees[0][1]
    return scene.explanation(
        "arithmetic_on_trees",
        title="Arithmetic on a container of arrays",
        what=f"`{name}` is {_described(value)} here, and its leaves are arrays.",
        variable=name,
        why="Operators work on arrays; a pytree such as a dict or a list of arrays is changed leaf by leaf.",
        fixes=[_item_too(scene, parts, trees[0]) or _mapped(scene, whole, parts, values)],
        link=_TREE_MAP,
    )


def _item_too(scene: Scene, parts: list[ast.expr], tree: tuple[ast.expr, Any]) -> Fix | None:
    """Return the fix for `{k: params[k] - grads for k in params}`: the item of `grads` is meant too."""
    node, value = tree
    for part in parts:
        item = _item_of(scene, part) if isinstance(part, ast.Name) else None
        if item is not None and isinstance(value, dict) and set(item[1]) == set(value):
            return scene.fix(
                f"Take the item `{item[0]}` of it too.",
                scene.source.replace(node, f"{scene.atom(node)}[{item[0]}]"),
            )
        if not isinstance(part, ast.Subscript) or not isinstance(part.slice, ast.Name):
            continue
        other = scene.spot.value(part.value)
        if isinstance(value, dict) and isinstance(other, dict) and set(other) == set(value):
            key = scene.quote(part.slice)
            return scene.fix(
                f"Take the item `{key}` of it too.",
                scene.source.replace(node, f"{scene.atom(node)}[{key}]"),
            )
    return None


def _item_of(scene: Scene, node: ast.Name) -> tuple[str, dict[Any, Any]] | None:
    """Return the name of the key, and the dict, if a name is a value of the `items()` that a loop goes through."""
    outer: ast.AST | None = node
    while outer is not None:
        for loop in getattr(outer, "generators", [outer] if isinstance(outer, ast.For) else []):
            names, call = loop.target, loop.iter
            if not isinstance(names, ast.Tuple) or [scene.quote(one) for one in names.elts[1:]] != [node.id]:
                continue
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "items":
                value = scene.spot.value(call.func.value)
                return (scene.quote(names.elts[0]), value) if isinstance(value, dict) else None
        outer = scene.source.parents.get(outer)
    return None


def _whole_expression(scene: Scene, node: ast.expr) -> ast.expr:
    """Return the outermost arithmetic expression around a node."""
    outer = scene.source.parents.get(node)
    while isinstance(outer, ast.BinOp | ast.UnaryOp):
        node, outer = outer, scene.source.parents.get(outer)
    return node


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [*_operands(node.left), *_operands(node.right)]
    return _operands(node.operand) if isinstance(node, ast.UnaryOp) else [node]


def _mapped(scene: Scene, whole: ast.expr, parts: list[ast.expr], values: list[Any]) -> Fix | None:
    """Return the fix that maps an expression over the leaves of its trees."""
    sentence = "Do it leaf by leaf: `jax.tree.map`."
    trees: dict[str, Any] = {}
    for part, value in zip(parts, values, strict=True):
        if is_tree_of_arrays(value):
            trees[scene.quote(part)] = value
    taken = names_in(whole) - set(trees)
    letters: dict[str, str] = {}
    for text in trees:
        start = (re.findall(r"[a-z]", text.lower()) or ["x"])[0]
        letter = next(one for one in (start, *"pqrstuvwxyz") if one not in taken | set(letters.values()))
        letters[text] = letter
    text = scene.quote(whole)
    spans = [
        (scene.source.start(part), scene.source.end(part), letters[scene.quote(part)])
        for part in parts
        if scene.quote(part) in letters
    ]
    first, last = scene.source.start(whole), scene.source.end(whole)
    if first[0] == last[0]:
        for start_of, end_of, letter in sorted(spans, reverse=True):
            text = text[: start_of[1] - first[1]] + letter + text[end_of[1] - first[1] :]
    else:
        return scene.advice(sentence)
    if any(value is MISSING and isinstance(part, ast.Name) for part, value in zip(parts, values, strict=True)):
        return scene.advice(sentence)
    new = f"{scene.jax}.tree.map(lambda {', '.join(letters.values())}: {text}, {', '.join(trees)})"
    structures = {jax.tree.structure(tree) for tree in trees.values()}
    rest = [value for value in values if not is_tree_of_arrays(value)]
    plain = all(isinstance(value, int | float | complex) or is_array(value) for value in rest)
    if len(structures) == 1 and plain:
        return scene.fix(sentence, scene.source.replace(whole, new))
    return scene.fix(sentence, code=new)


def _leaf_of_another_kind(scene: Scene, node: ast.BinOp, spot: UserFrame, call: ast.Call) -> Explanation | None:
    """Explain a None or a container where `jax.tree.map` meets an array in the first tree."""
    function = scene.spot.function
    names = [a.arg for a in function.args.args] if function is not None else []
    odd = [
        (index, name)
        for index, name in enumerate(names)
        if (value := scene.spot.frame.f_locals.get(name, MISSING)) is None or isinstance(value, dict | list | tuple)
    ]
    trees = call.args[1:]
    if not odd or odd[0][0] >= len(trees) or function is None:
        return None
    index, name = odd[0]
    value = scene.spot.frame.f_locals[name]
    tree = spot.value(trees[index])
    path = _path_of(tree, value)
    said = f"{spot.quote(trees[index])}{path}" if path is not None else name
    fixes: list[Fix | None] = []
    first = names[0] if names else name
    if value is None and isinstance(function, ast.Lambda) and index:
        body = f"{first} if {name} is None else {scene.quote(function.body)}"
        fixes.append(
            scene.fix(
                "Leave a leaf as it is if there is nothing to do with it.", scene.source.replace(function.body, body)
            )
        )
    elif value is None:
        fixes.append(scene.advice(f"Give an array there too, such as zeros, or test `{name} is None`."))
    else:
        fixes.append(scene.advice("Map over trees of the same structure: take the part that belongs to each leaf."))
    return scene.explanation(
        "leaf_of_another_kind",
        title="`jax.tree.map` met a leaf of another kind",
        what=f"`{said}` is {_described(value)} here, where the first tree has an array."
        if index
        else f"`{said}` is {_described(value)} here.",
        variable=said,
        why="The first tree decides where the leaves are; the others may have anything there, and it is handed over.",
        fixes=fixes,
        link=_TREE_MAP,
    )


def _path_of(tree: Any, value: Any) -> str | None:
    """Return the path of the first part of a tree that is this object."""
    if tree is MISSING:
        return None
    leaves = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda part: part is value)[0]
    return next((jax.tree_util.keystr(path) for path, leaf in leaves if leaf is value), None)


@explains(structure_texts.TREES_DIFFER)
def trees_differ(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.tree.map(f, params, grads)` of trees whose keys, lengths or containers differ."""
    call = scene.call()
    if call is None:
        return None
    if not is_tree_map(call) or len(call.args) < 2:
        return _said_to_differ(scene, call, found)
    path, trees = found[2].strip(), call.args[1:]
    first = _part(scene.spot.value(trees[0]), path)
    others = [(node, _part(scene.spot.value(node), path)) for node in trees[1:]]
    wrong = next(((node, part) for node, part in others if part is not MISSING and not _fit(first, part)), None)
    if wrong is None or first is MISSING:
        return _said_to_differ(scene, call, found)
    node, other = wrong
    one, two = f"{scene.quote(trees[0])}{path}", f"{scene.quote(node)}{path}"
    if isinstance(first, dict) and isinstance(other, dict):
        only = [f"`{one}[{key!r}]`" for key in first if key not in other]
        only += [f"`{two}[{key!r}]`" for key in other if key not in first]
        what = "{parts} is in one of the trees only.".format(parts=", ".join(only[:3]))
    else:
        what = f"`{one}` is {_described(first)}, and `{two}` is {_described(other)}."
    return scene.explanation(
        "trees_differ",
        title="`jax.tree.map` was given trees of different structure",
        what=what,
        variable=two,
        why="The function gets the leaves of all trees at one place, so every tree has the parts of the first one.",
        fixes=_trees_fixes(scene, call, node, path, first, other),
        link=_TREE_MAP,
    )


def _said_to_differ(scene: Scene, call: ast.Call, found: re.Match[str]) -> Explanation | None:
    """Explain trees that are not known here, or that a library compares, with what JAX says about them."""
    path = found[2].strip()
    types = structure_texts.SUBTREE_TYPES.findall(scene.message)
    function = scene.quote(call.func)
    where = f"`{path}`" if path else "the root"
    what = f"JAX found {found[1]} at {where}."
    fix = scene.advice("Give both trees the same keys and lengths, for instance by making one from the other.")
    if len(types) == 2 and types[0] != types[1]:
        fix = _one_container(scene, types[0].split(".")[-1], types[1].split(".")[-1])
        what = "At {path}, one tree has a `{one}`, and another has a `{two}`.".format(
            path=where, one=types[0].split(".")[-1], two=types[1].split(".")[-1]
        )
    return scene.explanation(
        "trees_differ",
        title=f"`{function}` was given trees of different structure",
        what=what,
        variable=path or function,
        why="The leaves of all trees at one place belong together, so every tree has the parts of the first one.",
        fixes=[fix],
        link=_TREE_MAP,
    )


def _described(value: Any) -> str:
    """Describe a part of a tree, naming the class of a container."""
    return describe(value) if not hasattr(value, "_fields") else f"a `{type(value).__name__}`"


def _fit(first: Any, other: Any) -> bool:
    """Return whether two parts of trees have the same children."""
    if first is None:
        return other is None
    if isinstance(first, dict):
        return type(first) is type(other) and set(first) == set(other)
    if isinstance(first, list | tuple):
        return type(first) is type(other) and len(first) == len(other)
    return not isinstance(other, dict | list | tuple) and other is not None


def _part(tree: Any, path: str) -> Any:
    """Return the part of a tree at a path that JAX writes, such as `['dense'][0].w`; MISSING if there is none."""
    part = tree
    for key, name in re.findall(r"\[(.*?)\]|\.(\w+)", path):
        if part is MISSING:
            return MISSING
        if name:
            part = getattr(part, name, MISSING) if hasattr(part, "_fields") else MISSING
            continue
        index = ast.literal_eval(key) if re.fullmatch(r"-?\d+|'[^']*'", key) else MISSING
        inside = isinstance(part, dict) and index in part
        inside = inside or (isinstance(part, list | tuple) and isinstance(index, int) and index < len(part))
        part = part[index] if inside else MISSING
    return part


def _trees_fixes(scene: Scene, call: ast.Call, node: ast.expr, path: str, first: Any, other: Any) -> list[Fix | None]:
    """Return the fixes for trees whose parts at a path differ."""
    function = call.args[0]
    if first is None and not any(keyword.arg == "is_leaf" for keyword in call.keywords):
        tests = "None" in scene.quote(function)
        return [
            scene.fix(
                "Let None count as a leaf.",
                scene.source.insert_after(call.args[-1], ", is_leaf=lambda leaf: leaf is None"),
            )
            if tests
            else scene.advice("Let None count as a leaf with `is_leaf=lambda leaf: leaf is None`, and test for it.")
        ]
    if isinstance(other, int | float | complex) or (is_array(other) and not path):
        return [
            _from_outside(scene, call, node)
            or scene.advice("Use a number that is the same for all leaves from outside.")
        ]
    if not path and {type(first), type(other)} == {list, tuple} and len(first) == len(other):
        new = f"{type(first).__name__}({scene.quote(node)})"
        return [scene.fix("Make it the container that the first tree is.", scene.source.replace(node, new))]
    if isinstance(first, list | tuple) and isinstance(other, list | tuple) and type(first) is not type(other):
        return [scene.advice("Build both trees in the same way: for JAX, a list is not a tuple.")]
    if isinstance(first, dict) != isinstance(other, dict) and hasattr(first, "keys") and hasattr(other, "keys"):
        return [_one_container(scene, type(first).__name__, type(other).__name__)]
    return [scene.advice("Give both trees the same keys and lengths, for instance by making one from the other.")]


def _one_container(scene: Scene, one: str, other: str) -> Fix:
    """Return advice on trees of the same parts in containers of different classes."""
    return scene.advice(f"Use one kind of container in both trees: for JAX, a `{one}` is not a `{other}`.")


def _from_outside(scene: Scene, call: ast.Call, node: ast.expr) -> Fix | None:
    """Return the fix that takes a number out of the trees and uses it inside the function."""
    function, index = call.args[0], call.args.index(node)
    if not isinstance(function, ast.Lambda) or len(function.args.args) != len(call.args) - 1:
        return None
    if not isinstance(node, ast.Name | ast.Constant) or function.args.defaults:
        return None
    name = function.args.args[index - 1].arg
    names = [argument.arg for argument in function.args.args if argument.arg != name]
    if scene.quote(node) in names:
        return None
    body = re.sub(rf"\b{re.escape(name)}\b", scene.quote(node), scene.quote(function.body))
    rest = [scene.quote(argument) for argument in call.args[1:] if argument is not node]
    rest += [f"{keyword.arg}={scene.quote(keyword.value)}" for keyword in call.keywords]
    text = f"{scene.quote(call.func)}(lambda {', '.join(names)}: {body}, {', '.join(rest)})"
    return scene.fix(
        "Use the number inside the function: it is the same for all leaves.", scene.source.replace(call, text)
    )


@explains(structure_texts.MIXED_KEYS)
def mixed_keys(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a dict with keys of several types, such as `{0: w, "head": v}`."""
    for node, value in scene.spot.parts(scene.node):
        path_and_dict = _unsorted(value, "")
        if path_and_dict is None:
            continue
        path, table = path_and_dict
        name = f"{scene.quote(node)}{path}"
        kinds = list(dict.fromkeys(type(key).__name__ for key in table))
        keys = list({type(key): key for key in reversed(list(table))}.values())[::-1]
        return scene.explanation(
            "mixed_keys",
            title="A dict whose keys cannot be sorted",
            what="Among the keys of `{name}` are {keys}: {kinds}.".format(
                name=name, keys=", ".join(repr(key) for key in keys[:3]), kinds=" and ".join(kinds)
            ),
            variable=name,
            why="JAX sorts the keys of a dict, so that equal dicts have their leaves in the same order.",
            fixes=[scene.advice('Use keys of one type, such as the texts `f"layer{i}"` in place of numbers.')],
            link=_PYTREES,
        )
    return None


def _unsorted(value: Any, path: str) -> tuple[str, dict[Any, Any]] | None:
    """Return the first dict in nested containers whose keys cannot be compared, and its path."""
    if isinstance(value, dict):
        try:
            sorted(value)
        except TypeError:
            return path, value
        inside = [(f"[{key!r}]", part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        inside = [(f"[{index}]", part) for index, part in enumerate(value)]
    else:
        return None
    return next((found for step, part in inside if (found := _unsorted(part, path + step)) is not None), None)


@explains(structure_texts.ARRAY_IN_METADATA)
def array_in_metadata(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an array in the auxiliary data of a registered class, which JAX compares with `==`."""
    kind = found[1].split(".")[-1] if found[1] else _class_given(scene)
    if kind is None:
        return None
    held = next((value for _node, value in scene.spot.parts(scene.node) if type(value).__name__ == kind), None)
    arrays = _arrays_in_metadata(held)
    what = f"The auxiliary data of `{kind}` cannot be compared with `==`, as with an array in it."
    if arrays:
        what = f"The auxiliary data of `{kind}` holds an array: `{arrays[0]}`."
    return scene.explanation(
        "array_in_metadata",
        title="Auxiliary data of a pytree that cannot be compared",
        what=what,
        variable=kind,
        why="JAX compares auxiliary data with `==` from call to call; `==` of two arrays is not a single truth value.",
        fixes=[
            scene.advice("Make the array a child, a data field; or, if it must be static, keep a tuple of its numbers.")
        ],
        link=_PYTREES,
    )


def _class_given(scene: Scene) -> str | None:
    """Return the name of the only class of the student's of which an object is given in the call."""
    call = scene.call()
    names = [
        called(node) if isinstance(node, ast.Call) else type(scene.spot.value(node)).__name__
        for node in (call.args if call is not None else ())
    ]
    known = {name for name in names if class_named(scene, name)[1] is not None}
    return known.pop() if len(known) == 1 else None


def _arrays_in_metadata(value: Any) -> list[str]:
    """Return the attributes of a registered object that are arrays and not among its leaves."""
    if value is None or not hasattr(value, "__dict__"):
        return []
    leaves = {id(leaf) for leaf in jax.tree.leaves(value)}
    return [name for name, part in vars(value).items() if is_array(part) and id(part) not in leaves]


@explains(structure_texts.TREE_FOR_ARRAY)
def tree_for_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.sum(params)` and `jnp.square(params)` of a pytree."""
    call = scene.call()
    if call is None or not call.args or called(call) != found[1]:
        return None
    node = call.args[0]
    value, text = scene.spot.value(node), scene.quote(node)
    unknown = value is MISSING and found[2] == "dict" and isinstance(node, ast.Dict)
    if not unknown and (not is_tree_of_arrays(value) or not are_meant_as_trees([value])):
        return None
    name, function = called(call), scene.quote(call.func)
    alone = len(call.args) == 1 and not call.keywords
    fix: Fix | None = None
    if alone and name in ENTRY_BY_ENTRY:
        fix = scene.fix(
            "Do it leaf by leaf: `jax.tree.map`.",
            scene.source.replace(call, f"{scene.jax}.tree.map({function}, {text})"),
        )
    elif alone and name == "sum":
        new = f"sum({function}(leaf) for leaf in {scene.jax}.tree.leaves({text}))"
        fix = scene.fix("Add up the sums of all leaves.", scene.source.replace(call, new))
    elif alone and name == "norm":
        new = f"{scene.jnp}.sqrt(sum({scene.jnp}.sum(leaf**2) for leaf in {scene.jax}.tree.leaves({text})))"
        fix = scene.fix("Take the norm of all leaves together.", scene.source.replace(call, new))
    return scene.explanation(
        "tree_for_array",
        title=f"`{function}` was given a tree of arrays",
        what=f"`{text}` is a dict here."
        if unknown
        else f"`{text}` is {_described(value)} here, and its leaves are arrays.",
        variable=text,
        why=f"`{function}` works on one array, and the leaves have shapes of their own.",
        fixes=[fix or scene.advice("Do it leaf by leaf: `jax.tree.map`, or go through `jax.tree.leaves`.")],
        link=_TREE_MAP,
    )


@explains(structure_texts.COMPARED)
def trees_compared(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `a == b` and `a in items` with containers of arrays."""
    node = scene.node
    if isinstance(node, ast.Assert | ast.If):
        node = node.test
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right = node.left, node.comparators[0]
    one, two = scene.spot.value(left), scene.spot.value(right)
    if not is_tree_of_arrays(two):
        return None
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        items = f"any(item is {scene.quote(left)} for item in {scene.quote(right)})"
        fix: Fix | None = scene.advice(
            f"Say what is meant: the same array, `{items}`, or equal numbers, with `jnp.array_equal`."
        )
    elif isinstance(node.ops[0], ast.Eq | ast.NotEq) and is_tree_of_arrays(one):
        pairs = f"{scene.jnp}.array_equal, {scene.quote(left)}, {scene.quote(right)}"
        equal = f"{scene.jax}.tree.all({scene.jax}.tree.map({pairs}))"
        new = equal if isinstance(node.ops[0], ast.Eq) else f"(not {equal})"
        same = len({jax.tree.structure(one), jax.tree.structure(two)}) == 1
        fix = scene.fix(
            "Compare leaf by leaf.", scene.source.replace(node, new) if same else None, code=new
        ) or scene.advice("")
    else:
        return None
    name = scene.quote(right)
    return scene.explanation(
        "trees_compared",
        title="Containers of arrays compared as a whole",
        what=f"`{name}` is {_described(two)} here, and its leaves are arrays.",
        variable=name,
        why="Python compares the leaves with `==`, which gives an array, and then asks for one truth value.",
        fixes=[fix],
        link=_TREE_MAP,
    )
