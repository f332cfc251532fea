"""Build the fix that makes a student's dataclass a pytree."""

import ast

from jaxguide.base.text import _
from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
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


def as_pytree(scene: Scene, name: str) -> Fix | None:
    """Return the fix that registers a dataclass whose fields hold numbers; None for any other class."""
    for node in ast.walk(scene.source.tree):
        if not isinstance(node, ast.ClassDef) or node.name != name or not node.decorator_list:
            continue
        first = node.decorator_list[0]
        plain = dotted(first.func if isinstance(first, ast.Call) else first).split(".")[-1] == "dataclass"
        fields = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
        words = {
            n.id if isinstance(n, ast.Name) else n.attr
            for f in fields
            for n in ast.walk(f.annotation)
            if isinstance(n, ast.Name | ast.Attribute)
        }
        if len(node.decorator_list) == 1 and plain and fields and words and words <= _NUMBERS:
            line, column = scene.source.start(first)
            at = (line, column - 1)
            indent = scene.source.indent(first)
            text = f"@{scene.jax}.tree_util.register_dataclass\n{indent}"
            return scene.fix(
                _("Register `{name}`: JAX then knows its fields as the parts of a pytree.").format(name=name),
                Edit(scene.source.file, at, at, text),
            )
    return None
