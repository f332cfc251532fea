"""Build the fixes for an object of a student's class that a jitted function was given."""

import ast
from typing import Any

from jaxguide.code.source import FunctionNode, Source
from jaxguide.code.user_frame import MISSING
from jaxguide.explain.explanation import Fix
from jaxguide.explain.rewrites.pytrees import as_pytree, class_named, is_constant
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.scene import Scene


def object_fixes(
    scene: Scene, place: tuple[Source, FunctionNode], name: str, kind: str, value: Any, given: ast.expr | None
) -> list[Fix | None]:
    """Return the fixes for an argument that is an object: a pytree, its attributes as arguments, or static if safe.

    Args:
        scene: the error.
        place: the jitted function and its source.
        name: the argument's name in that function.
        kind: the name of the object's class.
        value: the object, or MISSING.
        given: the expression that the student passed.
    """
    source, function = place
    made = type(value) if value is not MISSING else scene.spot.value(ast.Name(kind, ast.Load()))
    if (value is not MISSING and is_constant(value)) or _is_of_linen(made):
        static = f"Make `{name}` static: JAX then compiles once for each value of it."
        edits = static_edits(scene, source, function, name)
        return [as_pytree(scene, kind, value, given), scene.fix(static, *edits)]
    changed = _stored(function, name)
    used = _read(function, name)
    pytree = as_pytree(scene, kind, value, given) if not changed else None
    if pytree is not None:
        return [pytree]
    fixes: list[Fix | None] = []
    if changed:
        fixes.append(
            scene.advice(
                (
                    "Do not set `{attribute}` inside: under `jax.jit` that happens while JAX records. Return the new "
                    "value, and set it outside."
                ).format(attribute=f"{name}.{changed[0]}")
            )
        )
    if used:
        said = ", ".join(f"`{name}.{attribute}`" for attribute in used[:3])
        fixes.append(scene.advice(f"Pass the arrays that it uses, such as {said}, as arguments of a jitted function."))
    elif not any(fixes):
        fixes.append(scene.advice("Pass its arrays in a tuple or a dict."))
    if class_named(scene, kind)[1] is not None:
        fixes.append(
            scene.advice(
                f"Make `{name}` static only if `{kind}` is a frozen dataclass. With attributes that can change, JAX "
                "would go on with the old ones."
            )
        )
    return fixes


def _is_of_linen(kind: object) -> bool:
    """Return whether a class is a module of `flax.linen`, which compares by its fields and cannot be changed."""
    return isinstance(kind, type) and any(cls.__module__.startswith("flax.linen") for cls in kind.__mro__)


def _read(function: FunctionNode, name: str) -> list[str]:
    """Return the attributes of an argument that a function reads and does not call, in order."""
    called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    return list(
        dict.fromkeys(
            node.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
            and isinstance(node.ctx, ast.Load)
            and id(node) not in called
        )
    )


def _stored(function: FunctionNode, name: str) -> list[str]:
    """Return the attributes of an argument that a function sets."""
    return [
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    ]
