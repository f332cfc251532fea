"""Write several changes of arrays in one statement with `.at`: `x[0], x[1] = x[1], x[0]` and `x[0] = x[1] = 0.0`."""

import ast

from jaxguide.base.text import _
from jaxguide.code.source import names_in
from jaxguide.code.user_frame import is_array
from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene


def several_changes(scene: Scene, statement: ast.stmt | None) -> Fix | None:
    """Return the fix for a statement that assigns to several places at once; None where it is not plain."""
    if not isinstance(statement, ast.Assign):
        return None
    first: list[str] = []
    if len(statement.targets) > 1:
        if not isinstance(statement.value, ast.Constant | ast.Name):
            return None  # it would be computed for each
        targets, values = list(statement.targets), [scene.quote(statement.value)] * len(statement.targets)
    elif isinstance(statement.targets[0], ast.Tuple | ast.List):
        targets = statement.targets[0].elts
        values, first = _values(scene, statement.value, len(targets))
    else:
        return None
    changed: dict[str, str] = {}
    for target, value in zip(targets, values, strict=False):
        if isinstance(target, ast.Subscript) and is_array(scene.spot.value(target.value)):
            name = scene.quote(target.value)
            changed[name] = f"{changed.get(name, name)}.at[{scene.quote(target.slice)}].set({value})"
        elif isinstance(target, ast.Name):
            changed[target.id] = value
        else:
            return None
    # Python assigns from left to right, and all of this at once: an index must not be one of the names.
    indices = {n for t in targets if isinstance(t, ast.Subscript) for n in names_in(t.slice)}
    if len(values) != len(targets) or set(changed) & indices:
        return None
    lines = [*first, f"{', '.join(changed)} = {', '.join(changed.values())}"]
    return scene.fix(
        _("Make a new array with all changes in it: `.at` reads the old one throughout."),
        scene.source.replace(statement, f"\n{scene.source.indent(statement)}".join(lines)),
    )


def _values(scene: Scene, value: ast.expr, count: int) -> tuple[list[str], list[str]]:
    """Return the text of each value, and the line that gives them names where a call makes them all."""
    if isinstance(value, ast.Tuple | ast.List):
        starred = any(isinstance(element, ast.Starred) for element in value.elts)
        return ([], []) if starred else ([scene.quote(element) for element in value.elts], [])
    names = [f"new_{i}" for i in range(count)]
    return names, [f"{', '.join(names)} = {scene.quote(value)}"]
