"""Tell pytrees of arrays from arrays, and build the fix that makes a student's class a pytree."""

import ast
import dataclasses
import enum
import re
from types import FunctionType
from typing import Any

import jax
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.source import Source, dotted
from jaxguide.code.user_frame import MISSING, UserFrame, is_array
from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene, called

# Functions that make an array, whatever they are given.
_MAKERS = ("array", "asarray", "ones", "zeros", "full", "arange", "linspace", "eye")


def as_pytree(scene: Scene, name: str, value: Any = MISSING, given: ast.AST | None = None) -> Fix | None:
    """Return the fix that registers a class: a dataclass, or one that only stores what its constructor takes.

    Args:
        scene: the error.
        name: the name of the class.
        value: the object, if it is known.
        given: the expression that the student passed, which may construct the object.
    """
    source, found = class_named(scene, name)
    if source is None or found is None or scene.source.function(found) is not None:
        return None
    sentence = f"Register `{name}`: JAX then knows its fields as the parts of a pytree."
    text = f"{scene.jax}.tree_util.register_dataclass"
    if found.decorator_list:
        first = found.decorator_list[0]
        line, column = source.start(first)
        edit = Edit(source.file, (line, column), (line, column), f"{text}\n{source.indent(first)}@")
        return scene.fix(sentence, edit) if _is_numeric_dataclass(found) else None
    names, held = _stored_arguments(found), getattr(value, "__dict__", {})
    if value is MISSING and isinstance(given, ast.Call) and not given.keywords:
        values = [np.zeros(()) if called(one) in _MAKERS else scene.spot.value(one) for one in given.args]
        held = dict(zip(names, values, strict=False))
    # An integer may be a size, which must not become an array.
    numeric = all(is_array(leaf) or isinstance(leaf, float | complex) for leaf in jax.tree.leaves(held))
    if not names or held.keys() != set(names) or not numeric:
        return None
    fields = ", ".join(f'"{field}"' for field in names)
    text = f"{text}({name}, data_fields=[{fields}], meta_fields=[])"
    return scene.fix(sentence, source.insert_after(found, f"\n\n{text}"), code=text)


def class_named(scene: Scene, name: str) -> tuple[Source | None, ast.ClassDef | None]:
    """Return the definition of a student's class and its source, if exactly one source has exactly one."""
    sources = list(dict.fromkeys([scene.source, *(spot.source for spot in scene.spots if spot.source is not None)]))
    found = [(s, n) for s in sources for n in ast.walk(s.tree) if isinstance(n, ast.ClassDef) and n.name == name]
    return found[0] if len(found) == 1 else (None, None)


def _is_numeric_dataclass(found: ast.ClassDef) -> bool:
    """Return whether no field of a dataclass is a text or a function, by its annotation."""
    makers = [ast.unparse(one).partition("(")[0] for one in found.decorator_list]
    notes = [ast.unparse(one.annotation) for one in found.body if isinstance(one, ast.AnnAssign)]
    is_plain = any(re.search(r"\b(str|bool|Callable|Any|object)\b", note) for note in notes)
    return makers in (["dataclass"], ["dataclasses.dataclass"]) and bool(notes) and not is_plain


def _stored_arguments(found: ast.ClassDef) -> list[str]:
    """Return the attributes of a class whose constructor does nothing but store its arguments under their names."""
    makers = [one for one in found.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    if len(makers) != 1 or found.bases:
        return []
    own, *names = [argument.arg for argument in makers[0].args.args]
    stored = {re.sub(r"[()]", "", ast.unparse(one)) for one in makers[0].body}
    together = f"{', '.join(f'{own}.{name}' for name in names)} = {', '.join(names)}"
    return names if stored in ({f"{own}.{name} = {name}" for name in names}, {together}) else []


def is_constant(value: Any) -> bool:
    """Return whether an object is found by its contents, which cannot change, such as a frozen dataclass of numbers.

    Only such an object is safe as a static argument.
    """
    if isinstance(value, tuple | frozenset):
        return all(is_constant(part) for part in value)
    parameters = getattr(type(value), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen and parameters.eq:
        return all(is_constant(getattr(value, one.name, MISSING)) for one in dataclasses.fields(value) if one.compare)
    return isinstance(value, bool | int | float | complex | str | bytes | type | enum.Enum | FunctionType | None)


def is_tree_of_arrays(value: Any) -> bool:
    """Return whether a value is a container with JAX arrays among its leaves."""
    try:
        leaves = [] if is_array(value) or callable(value) else jax.tree.leaves(value)
    except ValueError:  # keys of a dict that cannot be sorted
        return False
    return any(isinstance(leaf, jax.Array) for leaf in leaves)


def are_meant_as_trees(trees: list[Any]) -> bool:
    """Return whether containers of arrays are used as pytrees, and not as arrays that were forgotten to be made."""
    if len(trees) > 1 or any(not isinstance(tree, list | tuple) or hasattr(tree, "_fields") for tree in trees):
        return True
    return any(len({np.shape(leaf) for leaf in jax.tree.leaves(tree)}) > 1 for tree in trees)


def tree_map_around(scene: Scene) -> tuple[UserFrame, ast.Call] | None:
    """Return the call of `jax.tree.map` whose function was running, and its frame."""
    for spot in scene.spots[-2:-1]:
        if isinstance(spot.node, ast.Call) and is_tree_map(spot.node):
            return spot, spot.node
    return None


def is_tree_map(call: ast.Call) -> bool:
    """Return whether a call is one of `jax.tree.map`."""
    return dotted(call.func).endswith(("tree.map", "tree_map", "tree_util.tree_map"))
