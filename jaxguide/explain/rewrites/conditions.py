"""Rewrite Python's tests as array expressions: `&` for `and`, `jnp.any` for `any`, comparisons one by one."""

import ast

from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene, called

REDUCERS = ("any", "all", "sum")
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def condition(scene: Scene, test: ast.expr) -> str:
    """Return a test as an array expression: `&` for `and`, `|` for `or`, `~` for `not`, comparisons one by one.

    For example, `x > 0 and y > 0` becomes `(x > 0) & (y > 0)`.
    """
    if isinstance(test, ast.BoolOp):
        if not all(is_comparison(value) for value in leaves(test)):
            return logical(scene, test)
        sign = " & " if isinstance(test.op, ast.And) else " | "
        return sign.join(f"({condition(scene, value)})" for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if not is_comparison(test.operand):
            return f"{scene.jnp}.logical_not({condition(scene, test.operand)})"
        return f"~({condition(scene, test.operand)})"
    if isinstance(test, ast.Compare):
        if len(test.ops) == 1 and isinstance(test.ops[0], ast.In | ast.NotIn):
            text = f"{scene.jnp}.any({as_array(scene, test.comparators[0])} == {scene.quote(test.left)})"
            return f"~{text}" if isinstance(test.ops[0], ast.NotIn) else text
        if len(test.ops) > 1:
            operands = [test.left, *test.comparators]
            pairs = zip(operands, test.ops, operands[1:], strict=False)
            return " & ".join(
                f"({scene.quote(left)} {_SIGNS[type(op)]} {scene.quote(right)})" for left, op, right in pairs
            )
    if isinstance(test, ast.Call) and called(test) in REDUCERS and isinstance(test.func, ast.Name) and test.args:
        return f"{scene.jnp}.{test.func.id}({as_array(scene, test.args[0])})"
    if isinstance(test, ast.Call) and called(test) == "bool" and test.args:
        return condition(scene, test.args[0])
    return scene.quote(test)


def logical(scene: Scene, test: ast.expr) -> str:
    """Return a test with `jnp.logical_and` and the like, which accept any numbers as truth values."""
    if isinstance(test, ast.BoolOp):
        name = "logical_and" if isinstance(test.op, ast.And) else "logical_or"
        text = logical(scene, test.values[0])
        for value in test.values[1:]:
            text = f"{scene.jnp}.{name}({text}, {logical(scene, value)})"
        return text
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return f"{scene.jnp}.logical_not({logical(scene, test.operand)})"
    if isinstance(test, ast.Compare) and len(test.ops) > 1:
        operands = [test.left, *test.comparators]
        pairs = list(zip(operands, test.ops, operands[1:], strict=False))
        parts = [f"{scene.quote(left)} {_SIGNS[type(op)]} {scene.quote(right)}" for left, op, right in pairs]
        text = parts[0]
        for part in parts[1:]:
            text = f"{scene.jnp}.logical_and({text}, {part})"
        return text
    return condition(scene, test)


def is_comparison(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare)


def leaves(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BoolOp):
        return [leaf for value in node.values for leaf in leaves(value)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return leaves(node.operand)
    return [node]


def as_array(scene: Scene, node: ast.expr) -> str:
    """Return the text of a value as an array: lists and tuples are wrapped, arrays stay as they are."""
    if isinstance(node, ast.List | ast.Tuple):
        return f"{scene.jnp}.array({scene.quote(node)})"
    value = scene.spot.value(node)
    return f"{scene.jnp}.array({scene.quote(node)})" if isinstance(value, list | tuple) else scene.quote(node)


def decided_by_python(scene: Scene, test: ast.expr) -> ast.expr | None:
    """Return the first part of a test that only Python can decide, such as `mask is None` or `"bias" in params`."""
    for part in leaves(test):
        if isinstance(part, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in part.ops):
            return part
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In | ast.NotIn):
            within, key = scene.spot.value(part.comparators[0]), scene.spot.value(part.left)
            if isinstance(within, dict | set | frozenset | str) or isinstance(key, str):
                return part
        if isinstance(part, ast.Call) and called(part) in ("isinstance", "hasattr", "callable", "issubclass"):
            return part
    return None


def split_test(scene: Scene, part: ast.expr) -> Fix:
    """Return advice to leave to Python the part of a test that it can decide."""
    return scene.advice(
        f"Let Python decide `{scene.quote(part)}` first, in an `if` of its own, and record only the rest."
    )
