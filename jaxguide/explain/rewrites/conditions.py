"""Rewrite Python's tests as array expressions: `&` for `and`, `jnp.any` for `any`, comparisons one by one."""

import ast

from jaxguide.explain.scene import Scene, called

REDUCERS = ("any", "all", "sum")


def condition(scene: Scene, test: ast.expr, with_functions: bool = False) -> str:
    """Return a test as an array expression: `(x > 0) & (y > 0)` for `x > 0 and y > 0`, `~` for `not`.

    With functions, it is `jnp.logical_and(x > 0, y > 0)`, which accepts any numbers as truth values; so it is also
    where something else than comparisons is joined.
    """
    with_functions = with_functions or not all(map(is_comparison, leaves(test)))
    if isinstance(test, ast.BoolOp):
        parts = [condition(scene, one, with_functions) for one in test.values]
        return _joined(scene, "and" if isinstance(test.op, ast.And) else "or", parts, with_functions)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = condition(scene, test.operand, with_functions)
        return f"{scene.jnp}.logical_not({inner})" if with_functions else f"~({inner})"
    if isinstance(test, ast.Compare) and len(test.ops) > 1:
        operands = [test.left, *test.comparators]
        pairs = zip(operands, test.ops, operands[1:], strict=False)
        single = [ast.unparse(ast.Compare(left, [op], [right])) for left, op, right in pairs]
        return _joined(scene, "and", single, with_functions)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In | ast.NotIn):
        text = f"{scene.jnp}.any({as_array(scene, test.comparators[0])} == {scene.quote(test.left)})"
        return f"~{text}" if isinstance(test.ops[0], ast.NotIn) else text
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.args:
        if called(test) in REDUCERS:
            return f"{scene.jnp}.{test.func.id}({as_array(scene, test.args[0])})"
        if called(test) == "bool":
            return condition(scene, test.args[0], with_functions)
    return scene.quote(test)


def _joined(scene: Scene, word: str, parts: list[str], with_functions: bool) -> str:
    """Return several tests joined with `&` or `|`, or with functions."""
    if not with_functions:
        return {"and": " & ", "or": " | "}[word].join(f"({part})" for part in parts)
    text, *others = parts
    for part in others:
        text = f"{scene.jnp}.logical_{word}({text}, {part})"
    return text


def is_comparison(node: ast.AST) -> bool:
    """Return whether a node is a comparison, whose result is of booleans."""
    return isinstance(node, ast.Compare)


def leaves(node: ast.AST) -> list[ast.AST]:
    """Return what `and`, `or` and `not` join."""
    if isinstance(node, ast.BoolOp):
        return [leaf for value in node.values for leaf in leaves(value)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return leaves(node.operand)
    return [node]


def as_array(scene: Scene, node: ast.expr) -> str:
    """Return the text of a value as an array: lists and tuples are wrapped, arrays stay as they are."""
    is_list = isinstance(node, ast.List | ast.Tuple) or isinstance(scene.spot.value(node), list | tuple)
    return f"{scene.jnp}.array({scene.quote(node)})" if is_list else scene.quote(node)


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
