"""Rewrite `print` of a traced value as `jax.debug.print`, which prints when the program runs."""

import ast
import json

from jaxguide.explain.scene import Scene, called


def debug_print(scene: Scene, call: ast.AST | None) -> str | None:
    """Return `jax.debug.print(...)` for a `print(...)` of texts, f-strings and values; None for anything else."""
    given = call.args if isinstance(call, ast.Call) and called(call) == "print" and not call.keywords else []
    if not given or any(isinstance(one, ast.Starred) or isinstance(getattr(one, "op", None), ast.Mod) for one in given):
        return None
    texts: list[str] = []
    values: list[str] = []
    for argument in given:
        text = ""
        for part in argument.values if isinstance(argument, ast.JoinedStr) else [argument]:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                text += part.value.replace("{", "{{").replace("}", "}}")
                continue
            spec, value = (part.format_spec, part.value) if isinstance(part, ast.FormattedValue) else (None, part)
            text += "{:" + ast.unparse(spec)[2:-1] + "}" if spec is not None else "{}"
            values.append(ast.unparse(_unconverted(value)))
        texts.append(text)
    return f"{scene.jax}.debug.print({', '.join([json.dumps(' '.join(texts), ensure_ascii=False), *values])})"


def _unconverted(node: ast.expr) -> ast.expr:
    """Return what `x.item()`, `float(x)` or `int(x)` makes a Python number of; other expressions as they are."""
    if isinstance(node, ast.Call) and called(node) in ("float", "int") and len(node.args) == 1:
        return node.args[0]
    is_item = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"
    return node.func.value if is_item and not node.args else node  # type: ignore[attr-defined]
