"""Rewrite `print` of a traced value as `jax.debug.print`, which prints when the program runs."""

import ast

from jaxguide.explain.scene import Scene, called


def debug_print(scene: Scene, call: ast.AST | None) -> str | None:
    """Return `jax.debug.print(...)` for a `print(...)` of texts, f-strings and values; None for anything else."""
    if not isinstance(call, ast.Call) or called(call) != "print" or not call.args or call.keywords:
        return None
    texts: list[str] = []
    values: list[str] = []
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            return None
        if isinstance(argument, ast.JoinedStr):
            texts.append(_filled(argument, values))
        elif isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            texts.append(_escaped(argument.value))
        elif isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Mod):
            return None
        else:
            texts.append("{}")
            values.append(scene.quote(_unconverted(argument)))
    text = " ".join(texts).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f"{scene.jax}.debug.print({', '.join([chr(34) + text + chr(34), *values])})"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _filled(node: ast.JoinedStr, values: list[str]) -> str:
    """Return an f-string as a format string, and append its expressions to `values`."""
    text = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += _escaped(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            spec = ""
            if isinstance(part.format_spec, ast.JoinedStr):
                spec = "".join(str(p.value) for p in part.format_spec.values if isinstance(p, ast.Constant))
            text += "{" + (f":{spec}" if spec else "") + "}"
            values.append(ast.unparse(_unconverted(part.value)))
    return text


def _unconverted(node: ast.expr) -> ast.expr:
    """Return what `x.item()`, `float(x)` or `int(x)` makes a Python number of; other expressions as they are."""
    if isinstance(node, ast.Call) and not node.keywords:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
            return node.func.value
        if isinstance(node.func, ast.Name) and node.func.id in ("float", "int") and len(node.args) == 1:
            return node.args[0]
    return node
