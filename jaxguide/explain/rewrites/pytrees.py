"""Tell pytrees of arrays from arrays, and build the fix that makes a student's class a pytree."""

import ast
import dataclasses
from types import ModuleType
from typing import Any

import jax
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.source import Source, dotted
from jaxguide.code.user_frame import MISSING, UserFrame, is_array
from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene

# Names that may appear in the annotation of a numeric field.
_NUMBERS = {
    "jax",
    "jnp",
    "np",
    "numpy",
    "Array",
    "ndarray",
    "ArrayLike",
    "float",
    "int",
    "complex",
    "list",
    "tuple",
    "dict",
}


def as_pytree(scene: Scene, name: str, value: Any = MISSING, given: ast.expr | None = None) -> Fix | None:
    """Return the fix that registers a class whose attributes are what its constructor takes; None for any other class.

    Args:
        scene: the error.
        name: the name of the class.
        value: the object, if it is known.
        given: the expression that the student passed, which may construct the object.
    """
    source, found = class_named(scene, name)
    if source is None or found is None:
        return None
    sentence = f"Register `{name}`: JAX then knows its fields as the parts of a pytree."
    if _is_numeric_dataclass(found):
        first = found.decorator_list[0]
        line, column = source.start(first)
        at = (line, column - 1)
        text = f"@{scene.jax}.tree_util.register_dataclass\n{source.indent(first)}"
        return scene.fix(sentence, Edit(source.file, at, at, text))
    attributes = _attributes(found)
    parts = _parts(scene, attributes, value, given) if attributes else None
    if parts is None or not any(data for data in parts.values()):
        return None
    if scene.source.function(found) is not None or found.decorator_list:
        return None
    data, meta = ([part for part, is_data in parts.items() if is_data is wanted] for wanted in (True, False))
    text = f"{scene.jax}.tree_util.register_dataclass({name}, data_fields={data!r}, meta_fields={meta!r})"
    text = text.replace("'", '"')
    return scene.fix(sentence, source.insert_after(found, f"\n\n{text}"), code=text)


def class_named(scene: Scene, name: str) -> tuple[Source | None, ast.ClassDef | None]:
    """Return the definition of a student's class and its source, if exactly one source has exactly one."""
    sources = list(dict.fromkeys([scene.source, *(spot.source for spot in scene.spots if spot.source is not None)]))
    found = [(s, n) for s in sources for n in ast.walk(s.tree) if isinstance(n, ast.ClassDef) and n.name == name]
    return found[0] if len(found) == 1 else (None, None)


def _is_numeric_dataclass(node: ast.ClassDef) -> bool:
    if len(node.decorator_list) != 1:
        return False
    first = node.decorator_list[0]
    plain = dotted(first.func if isinstance(first, ast.Call) else first).split(".")[-1] == "dataclass"
    fields = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
    words = {
        n.id if isinstance(n, ast.Name) else n.attr
        for f in fields
        for n in ast.walk(f.annotation)
        if isinstance(n, ast.Name | ast.Attribute)
    }
    return plain and bool(fields) and bool(words) and words <= _NUMBERS


def _attributes(node: ast.ClassDef) -> list[str]:
    """Return the attributes of a class whose constructor does nothing but store its arguments under their names."""
    if node.bases or node.keywords:
        return []
    makers = [s for s in node.body if isinstance(s, ast.FunctionDef) and s.name in ("__init__", "__new__")]
    others = [s for s in node.body if not isinstance(s, ast.FunctionDef | ast.Expr)]
    if len(makers) != 1 or makers[0].name != "__init__" or others:
        return []
    maker = makers[0]
    if maker.args.vararg or maker.args.kwarg or maker.args.posonlyargs or maker.args.kwonlyargs:
        return []
    own, *names = [argument.arg for argument in maker.args.args]
    stored: dict[str, str] = {}
    for statement in maker.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for left, right in pairs:
            if not isinstance(left, ast.Attribute) or dotted(left.value) != own or not isinstance(right, ast.Name):
                return []
            stored[left.attr] = right.id
    return names if sorted(stored) == sorted(names) and all(a == b for a, b in stored.items()) else []


def _parts(scene: Scene, attributes: list[str], value: Any, given: ast.expr | None) -> dict[str, bool] | None:
    """Return for each attribute whether it holds arrays; None if that is not known."""
    if value is not MISSING:
        held = vars(value) if hasattr(value, "__dict__") else {}
        if sorted(held) != sorted(attributes):
            return None
        kinds = {name: _holds_arrays(held[name]) for name in attributes}
    elif isinstance(given, ast.Call) and not given.keywords and len(given.args) == len(attributes):
        kinds = {
            name: _gives_array(scene, node) or _holds_arrays(scene.spot.value(node))
            for name, node in zip(attributes, given.args, strict=True)
        }
    else:
        return None
    return None if None in kinds.values() else {name: bool(kind) for name, kind in kinds.items()}


def _gives_array(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression calls a function of `jax.numpy` or NumPy that creates an array."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    module = scene.spot.value(node.func.value)
    made = ("array", "asarray", "ones", "zeros", "full", "arange", "linspace", "eye")
    return isinstance(module, ModuleType) and module.__name__ in ("jax.numpy", "numpy") and node.func.attr in made


def _holds_arrays(value: Any) -> bool | None:
    """Return whether a value consists of arrays and floats; None if it can be neither data nor metadata.

    An integer, which may be a size, counts as metadata: JAX then compiles once for each value.
    """
    if value is MISSING or (isinstance(value, dict) and len({type(key) for key in value}) > 1):
        return None
    if value is None or callable(value) or isinstance(value, bool | int | str):
        return False
    leaves = jax.tree.leaves(value)
    return True if leaves and all(is_array(leaf) or isinstance(leaf, float | complex) for leaf in leaves) else None


def is_constant(value: Any) -> bool:
    """Return whether an object is a frozen dataclass of hashable parts, or an enumeration's member.

    Only such an object is safe as a static argument: it is found by its contents, which cannot change.
    """
    parameters = getattr(type(value), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen or not parameters.eq:
        return any(kind.__module__ == "enum" for kind in type(value).__mro__)
    held = [getattr(value, field.name, MISSING) for field in dataclasses.fields(value) if field.compare]
    return all(_is_immutable(part) for part in held)


def _is_immutable(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(_is_immutable(part) for part in value)
    plain = value is None or isinstance(value, bool | int | float | complex | str | bytes | type)
    return plain or type(value).__name__ == "function" or (value is not MISSING and is_constant(value))


def is_tree_of_arrays(value: Any) -> bool:
    """Return whether a value is a container with JAX arrays among its leaves."""
    if value is MISSING or is_array(value) or callable(value) or isinstance(value, str | bytes | int | float | complex):
        return False
    try:
        leaves = jax.tree.leaves(value)
    except ValueError:  # keys of a dict that cannot be sorted
        return False
    return any(isinstance(leaf, jax.Array) and leaf is not value for leaf in leaves)


def are_meant_as_trees(trees: list[Any]) -> bool:
    """Return whether containers of arrays are used as pytrees, and not as arrays that were forgotten to be made."""
    if len(trees) > 1 or any(not isinstance(tree, list | tuple) or hasattr(tree, "_fields") for tree in trees):
        return True
    return any(len({np.shape(leaf) for leaf in jax.tree.leaves(tree)}) > 1 for tree in trees)


def tree_map_around(scene: Scene) -> tuple[UserFrame, ast.Call] | None:
    """Return the call of `jax.tree.map` whose function was running, and its frame."""
    if len(scene.spots) < 2:
        return None
    spot = scene.spots[-2]
    call = spot.node if isinstance(spot.node, ast.Call) else None
    return (spot, call) if call is not None and is_tree_map(call) else None


def is_tree_map(call: ast.Call) -> bool:
    """Return whether a call is one of `jax.tree.map`."""
    return dotted(call.func).endswith(("tree.map", "tree_map", "tree_util.tree_map"))
