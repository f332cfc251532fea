"""Explain attempts to change an array in place: items, deletion, its shape, list methods, misuse of `.at`."""

import ast
import re

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.control_flow import operator_sign
from jaxguide.explain.rewrites.masks import kept_places, sliced_axis, spread
from jaxguide.explain.rewrites.written_shapes import computed_shape
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene

_METHODS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}


def _why() -> str:
    return "JAX arrays never change: the same array may already be part of a recorded program, or shared."


@explains(error_texts.AT_SET)
def at_assigned(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.at[0] = 1.0`."""
    statement = scene.spot.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Attribute):
        return None
    array, index = scene.quote(target.value.value), scene.quote(target.slice)
    return _explained(
        scene,
        "at_assigned",
        "`.at[...]` is not assigned to",
        array,
        target.value.value,
        "`.at[...]` only names the place; `.set(...)` returns a new array, and the old one stays as it was.",
        scene.fix(
            "Call `.set`, and keep what it returns.",
            scene.source.replace(statement, f"{array} = {array}.at[{index}].set({scene.quote(statement.value)})"),
        ),
    )


@explains(error_texts.SET_ITEM)
def assigned_item(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[0] = 1.0` and `x[0] += 1.0`."""
    node, statement = scene.node, scene.spot.statement
    target = node if isinstance(node, ast.Subscript) else None
    if target is None:
        return None
    array = target.value
    index = scene.quote(target.slice)
    while isinstance(array, ast.Subscript) and is_array(scene.spot.value(array.value)):
        index = f"{scene.quote(array.slice)}, {index}"  # x[0][1] is an item of a copy: change x itself
        array = array.value
    name = scene.quote(array)
    numpy_too = "Build it in NumPy, whose arrays do change, and give it to JAX when it is done."
    fixes: list[Fix | None] = []
    if isinstance(statement, ast.AugAssign) and statement.target is target:
        value = scene.quote(statement.value)
        if type(statement.op) in _METHODS:
            call = f"{_METHODS[type(statement.op)]}({value})"
        elif isinstance(statement.op, ast.Sub):
            call = f"add(-{scene.atom(statement.value)})"
        else:
            call = f"set({name}[{index}] {operator_sign(statement.op)} {scene.atom(statement.value)})"
        fixes.append(
            scene.fix(
                "Make a new array with the change in it; under `jax.jit` nothing is copied.",
                scene.source.replace(statement, f"{name} = {name}.at[{index}].{call}"),
            )
        )
    elif isinstance(statement, ast.Assign) and statement.targets == [target]:
        text = f"{name} = {name}.at[{index}].set({scene.quote(statement.value)})"
        fixes.extend(_choice(scene, target, statement, name, index))
        if not fixes:
            fixes.append(
                scene.fix(
                    "Make a new array with the change in it; under `jax.jit` nothing is copied.",
                    scene.source.replace(statement, text),
                )
            )
    else:
        fixes.append(
            _several_changes(scene, statement)
            or scene.fix("Make a new array with the change in it.", code=f"{name} = {name}.at[{index}].set(value)")
        )
    value = scene.spot.value(array)
    in_loop = statement is not None and isinstance(scene.source.parents.get(statement), ast.For | ast.While)
    if value is not MISSING and not is_tracer(value) and in_loop:
        fixes.append(scene.fix(numpy_too, code=f"{name} = {scene.np}.array({name})"))
    return _explained(scene, "item_assignment", "An array cannot be changed in place", name, array, _why(), *fixes)


@explains(error_texts.SET_NUMPY_ITEM)
def numpy_item(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `a[0] = x` with a NumPy array and a traced value."""
    statement = scene.spot.statement
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Subscript):
        return None
    target, traced = statement.targets[0], scene.tracer(statement.value)
    if traced is None or len(statement.targets) > 1 or not isinstance(target.value, ast.Name):
        return None
    name, variable = target.value.id, scene.quote(traced[0])
    text = f"{name} = {scene.jnp}.asarray({name}).at[{scene.quote(target.slice)}].set({scene.quote(statement.value)})"
    return scene.explanation(
        "numpy_item_of_tracer",
        title=f"A NumPy array holds known values, but `{variable}` is traced",
        what=scene.traced_what(variable, traced[1]),
        variable=variable,
        why=f"`{name}` holds numbers now, while JAX records the program, and the value comes later.",
        fixes=[
            scene.fix(
                "Make it JAX's array, and a new one with the change in it.", scene.source.replace(statement, text)
            )
        ],
        link=error_texts.AT_LINK,
    )


@explains(error_texts.DELETE_ITEM)
def deleted_item(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `del x[0]`."""
    statement = scene.spot.statement
    if not isinstance(statement, ast.Delete) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript) or not is_array(scene.spot.value(target.value)):
        return None
    name, index = scene.quote(target.value), scene.quote(target.slice)
    return _explained(
        scene,
        "item_deletion",
        "An item of an array cannot be deleted",
        name,
        target.value,
        _why(),
        scene.fix(
            "Make a new array without it.",
            scene.source.replace(
                statement, f"{name} = {scene.jnp}.delete({name}, {index}{_along_first(scene, target.value)})"
            ),
        ),
    )


@explains(error_texts.SET_SHAPE)
def assigned_shape(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.shape = (2, 3)`."""
    statement = scene.spot.statement
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
        return None
    array = statement.targets[0].value
    name = scene.quote(array)
    return _explained(
        scene,
        "shape_assignment",
        "An array's shape cannot be assigned",
        name,
        array,
        _why(),
        scene.fix(
            "Make a new array of that shape.",
            scene.source.replace(statement, f"{name} = {name}.reshape({scene.quote(statement.value)})"),
        ),
    )


@explains(error_texts.NO_METHOD)
def list_method(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.append(1.0)` and other methods that JAX arrays do not have."""
    call = scene.source.parents.get(scene.node)
    if not isinstance(scene.node, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not scene.node:
        return None
    array, method = scene.node.value, scene.node.attr
    name, given = scene.quote(array), ", ".join(scene.quote(a) for a in call.args)
    new = {
        "append": _appended(scene, call, array),
        "extend": f"{scene.jnp}.append({name}, {scene.jnp}.array({given}){_along_first(scene, array)})",
        "insert": f"{scene.jnp}.insert({name}, {given}{_along_first(scene, array)})",
        "fill": f"{scene.jnp}.full_like({name}, {given})",
    }.get(method)
    if new is None:
        return None
    statement = scene.spot.statement
    alone = isinstance(statement, ast.Expr) and statement.value is call
    return _explained(
        scene,
        "list_method",
        f"An array has no method `{method}`",
        name,
        array,
        _why(),
        scene.fix(
            "Make a new array, and keep it. In a loop, collect in a Python list and stack once at the end."
            if method != "fill"
            else "JAX's own way.",
            scene.source.replace(call, f"{name} = {new}" if alone else new),
        ),
    )


def _along_first(scene: Scene, array: ast.expr) -> str:
    """Return the argument that keeps the axes of an array, which `jnp.append` and others would flatten otherwise."""
    value = scene.spot.value(array)
    return ", axis=0" if is_array(value) and value.ndim > 1 else ""


def _appended(scene: Scene, call: ast.Call, array: ast.expr) -> str:
    """Return the text of an array with one more entry at its end."""
    name, given = scene.quote(array), ", ".join(scene.quote(a) for a in call.args)
    along = _along_first(scene, array)
    return f"{scene.jnp}.append({name}, {f'{scene.jnp}.array([{given}]){along}' if along else given})"


@explains(error_texts.AT_CALLED)
def at_called(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.at(0).set(1.0)`."""
    call = scene.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "at":
        return None
    name, given = scene.quote(call.func.value), ", ".join(scene.quote(a) for a in call.args)
    return _explained(
        scene,
        "at_called",
        "`.at` takes square brackets",
        name,
        call.func.value,
        "`.at` names a place as an index does, so slices work in it, and these need brackets.",
        scene.fix("Write an index, and keep the new array.", scene.source.replace(call, f"{name}.at[{given}]")),
    )


@explains(error_texts.AT_ARITHMETIC)
def at_arithmetic(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.at[0] + 1.0`."""
    node = scene.node
    if not isinstance(node, ast.BinOp) or not isinstance(node.left, ast.Subscript):
        return None
    place = node.left
    if not isinstance(place.value, ast.Attribute):
        return None
    value = scene.quote(node.right)
    call = f"add(-{scene.atom(node.right)})" if isinstance(node.op, ast.Sub) else None
    if type(node.op) in _METHODS:
        call = f"{_METHODS[type(node.op)]}({value})"
    name = scene.quote(place.value.value)
    return _explained(
        scene,
        "at_arithmetic",
        "`.at[...]` is a place, not a value",
        name,
        place.value.value,
        "`.at[...]` only names the place; its methods, such as `.add(...)`, return the new array.",
        scene.fix(
            "Call the method.",
            scene.source.replace(node, f"{scene.quote(place)}.{call}") if call else None,
        ),
    )


def _choice(scene: Scene, target: ast.Subscript, statement: ast.Assign, name: str, index: str) -> list[Fix | None]:
    """Return the fix for `x[mask] = value` and `x[:n] = value`, which `.at` cannot do if `mask` or `n` is traced."""
    mask = scene.spot.value(target.slice)
    if scene.quote(target.value) != name:  # an item of an item
        return []
    if sliced_axis(scene, target) is not None:
        keep = kept_places(scene, target, target.value)
    elif isinstance(target.slice, ast.Compare) or (is_array(mask) and mask.dtype == bool):
        keep = _as_mask(scene, target.slice, target.value)
    else:
        return []
    if not keep:
        return []
    text = f"{name} = {scene.jnp}.where({keep}, {scene.quote(statement.value)}, {name})"
    return [scene.fix("Choose between the new value and the old ones.", scene.source.replace(statement, text))]


def _as_mask(scene: Scene, mask: ast.expr, array: ast.expr) -> str | None:
    """Return the text of a mask of an array's first axes, shaped to broadcast with the array; None if not known."""
    kept, whole = computed_shape(scene, mask), computed_shape(scene, array)
    if kept is None or whole is None:
        return None
    return scene.quote(mask) if len(kept) == len(whole) else spread(scene.atom(mask), len(kept) - 1, len(whole))


def _explained(
    scene: Scene, kind: str, title: str, name: str, array: ast.expr, why: str, *fixes: object
) -> Explanation | None:
    value = scene.spot.value(array)
    return scene.explanation(
        kind,
        title=title,
        what=scene.what(name, value) if is_array(value) else "",
        variable=name,
        why=why,
        fixes=fixes,  # type: ignore[arg-type]
        link=error_texts.AT_LINK,
    )


def _several_changes(scene: Scene, statement: ast.stmt | None) -> Fix | None:
    """Return the fix for a statement that assigns to several places at once; None if it is not simple."""
    if not isinstance(statement, ast.Assign):
        return None
    first: list[str] = []
    if len(statement.targets) > 1:
        if not isinstance(statement.value, ast.Constant | ast.Name):
            return None  # it would be computed for each target
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
    # Python assigns from left to right, the fix all at once: an index must not use one of the names.
    indices = {n for t in targets if isinstance(t, ast.Subscript) for n in names_in(t.slice)}
    if len(values) != len(targets) or set(changed) & indices:
        return None
    lines = [*first, f"{', '.join(changed)} = {', '.join(changed.values())}"]
    return scene.fix(
        "Make a new array with all changes in it: `.at` reads the old one throughout.",
        scene.source.replace(statement, f"\n{scene.source.indent(statement)}".join(lines)),
    )


def _values(scene: Scene, value: ast.expr, count: int) -> tuple[list[str], list[str]]:
    """Return the text of each value, and the line that names them if one expression produces them all."""
    if isinstance(value, ast.Tuple | ast.List):
        starred = any(isinstance(element, ast.Starred) for element in value.elts)
        return ([], []) if starred else ([scene.quote(element) for element in value.elts], [])
    names = [f"new_{i}" for i in range(count)]
    return names, [f"{', '.join(names)} = {scene.quote(value)}"]
