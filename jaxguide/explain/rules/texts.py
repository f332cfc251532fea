"""Explain strings made from arrays and traced values: `+` with a string, `%`, f-strings."""

import ast
import re

from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.printing import debug_print
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called


@explains(error_texts.STRING_PLUS)
def text_and_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `"x is " + x`."""
    node = scene.node
    if not isinstance(node, ast.BinOp):
        return None
    text, value = scene.quote(node.right), scene.spot.value(node.right)
    if is_tracer(value):
        fix = scene.fix(
            "Print the value when the program runs.",
            code=f'{scene.jax}.debug.print("{{}}", {text})',
        )
    else:
        fix = scene.fix("Put the value into the text.", scene.source.replace(node.right, f"str({text})"))
    return scene.explanation(
        "text_and_array",
        title="A text and an array cannot be added",
        what=scene.what(text, value) if is_array(value) else "",
        variable=text,
        why="`+` joins two texts or adds two arrays.",
        fixes=[fix],
        link=f"{error_texts.API}/jax.debug.print.html",
    )


@explains(structure_texts.NOT_JSON)
def not_json(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `json.dumps({"loss": loss})` with an array."""
    call = scene.call()
    if call is None or called(call) not in ("dump", "dumps") or not call.args:
        return None
    part = scene.spot.first(call.args[0], is_array)
    text, value = (scene.quote(part[0]), part[1]) if part is not None else (None, None)
    fix: Fix | None = scene.advice(
        f"Convert every array first: `jax.tree.map(lambda x: {scene.np}.asarray(x).tolist(), tree)`."
    )
    if found[1] != "ArrayImpl":
        fix = scene.advice("Return the value, and write it outside, when the program has run.")
    elif part is not None:
        fix = scene.fix(
            "Convert it to Python's numbers.", scene.source.replace(part[0], f"{scene.atom(part[0])}.tolist()")
        )
    return scene.explanation(
        "json_of_array",
        title="JSON has no arrays of JAX",
        what=scene.what(text, value) if text is not None else "",
        variable=text,
        why="The value of a traced array comes later, when the program runs."
        if found[1] != "ArrayImpl"
        else "`json` writes Python's numbers, texts, lists and dicts.",
        fixes=[fix],
        link="https://docs.python.org/3/library/json.html",
    )


def printed_in(scene: Scene, node: ast.AST) -> bool:
    """Return whether a number is made for a text that is printed: in an f-string, or as an argument of `print`."""
    statement = scene.spot.statement
    call = statement.value if isinstance(statement, ast.Expr) else None
    inside = scene.source.around(node, ast.FormattedValue) is not None
    return inside or (isinstance(call, ast.Call) and called(call) == "print" and node in call.args)


@explains(error_texts.FORMAT)
def formatted(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `f"{x:.2f}"` with a tracer or an array of several numbers."""
    part = scene.spot.first(scene.node, is_array) or scene.spot.first(scene.spot.statement, is_array)
    if part is None:
        return None
    text, value = scene.quote(part[0]), part[1]
    statement = scene.spot.statement
    fixes: list[Fix | None] = []
    if is_tracer(value):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and called(call) == "print" and len(call.args) == 1:
            line = debug_print(scene, call)
            if line is not None:
                fixes.append(scene.fix("Print it when the program runs.", scene.source.replace(call, line)))
        if not fixes:
            code = f'{scene.jax}.debug.print("{{}}", {text})'
            fixes.append(scene.fix("Print it when the program runs.", code=code))
        fixes.append(scene.fix("Format the result, outside.", code='f"{result:.2f}"'))
        why = "A text is made now, while JAX records the program, and the value comes later."
        kind = "format_of_tracer"
    else:
        joined = scene.source.around(part[0], ast.FormattedValue)
        if joined is not None:
            inside = scene.quote(joined)
            spec = inside.rpartition(":")[2].rstrip("}") if ":" in inside else ".2f"
            new = f"{{{scene.np}.array2string({scene.np}.asarray({text}), precision=2)}}"
            fixes.append(scene.fix("Let NumPy write the whole array (`precision=` says how fine).", code=f'f"{new}"'))
            fixes.append(scene.fix("One number of it.", code=f'f"{{{scene.atom(part[0])}[0]:{spec}}}"'))
        why = "A format such as `.2f` is for one number."
        kind = "format_of_array"
    return scene.explanation(
        kind,
        title=f"A text needs a known value, but `{text}` is traced" if is_tracer(value) else "A format for one number",
        what=scene.what(text, value),
        variable=text,
        why=why,
        fixes=fixes,
        link=f"{error_texts.API}/jax.debug.print.html",
    )
