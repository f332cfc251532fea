"""Explain loop bodies that return other parts than they were given, or nothing."""

import ast
import re
from typing import Any

from jaxguide.base.text import _
from jaxguide.code.source import FunctionNode, Source
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.rules.carries import BODY, LOOPS, START, as_pair, carry_name
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, own_nodes, returned

_SCAN = f"{error_texts.API}/jax.lax.scan.html"


@explains(error_texts.CARRY_STRUCTURE)
def carry_changes_structure(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose carry comes out with more or fewer parts, or in another container."""
    call = scene.call()
    if call is None or called(call) not in LOOPS:
        return None
    body, start = argument_of(call, *BODY[called(call)]), argument_of(call, *START[called(call)])
    place = function_behind(scene.spot, body)
    if place is None or body is None or start is None:
        return None
    source, function = place
    result = returned(function)
    carry = carry_name(call, function)
    if carry is None:
        return None
    if result is None:
        return forgotten_return(scene, call, body, source, function)
    out: ast.expr | None = result
    if called(call) == "scan":
        out = result.elts[0] if isinstance(result, ast.Tuple) and len(result.elts) == 2 else None
    keys = error_texts.CARRY_KEYS.search(scene.message)
    if keys is not None:
        what = _("`{name}` goes in and comes out with other keys: {keys} is on one side only.").format(
            name=carry, keys=keys[1]
        )
        fixes: list[Fix | None] = [
            scene.advice(
                _("Give the start every key that a turn returns, {keys} too, or leave it out of both.").format(
                    keys=keys[1]
                )
            )
        ]
    else:
        text = source.quote(out) if out is not None else source.quote(result)
        what = _("`{name}` goes in as {start}, and a turn returns `{text}`.").format(
            name=carry, start=f"`{scene.quote(start)}`", text=text
        )
        fixes = [
            _same_parts(scene, call, source, result, _container(scene, start))
            or scene.advice(_("Return as carry just the parts that the start has, in the same kind of container."))
        ]
    return scene.explanation(
        "carry_structure",
        title=_("A carry that changes its parts"),
        what=what,
        variable=carry,
        why=_("What one turn returns as carry is what the next one takes, so both have the same parts."),
        fixes=fixes,
        link=_SCAN,
    )


def forgotten_return(
    scene: Scene, call: ast.Call, body: ast.expr, source: Source, function: FunctionNode
) -> Explanation | None:
    """Explain a loop body that ends without `return`; None where it returns something somewhere."""
    carry = carry_name(call, function)
    if carry is None or isinstance(function, ast.Lambda):
        return None
    if any(isinstance(node, ast.Return) and node.value is not None for node in own_nodes(function)):
        return None
    name, last = scene.quote(body), function.body[-1]
    result = _what_to_return(source, function, carry, last)
    scan = called(call) == "scan"
    fix: Fix | None = None
    if isinstance(last, ast.Expr) and result is None and _is_value(last.value):
        edits = [source.insert_before(last, "return ")] + ([source.insert_after(last, ", None")] if scan else [])
        fix = scene.fix(_("Return what the last line computes."), *edits)
    elif result is not None:
        said = f"return {result}" + (", None" if scan and "," not in result else "")
        said = f"return ({result}), None" if scan and "," in result else said
        alone = not source.lines[source.start(last)[0] - 1][: source.start(last)[1]].strip()
        line = f"\n{source.indent(last)}{said}" if alone else f"; {said}"
        fix = scene.fix(_("Add `{line}`.").format(line=said), source.insert_after(last, line))
    elif scan:
        fix = scene.advice(_("End it with `return`, the carry for the next turn, a comma, and an output or None."))
    else:
        fix = scene.advice(_("End it with `return` and the carry for the next turn."))
    return scene.explanation(
        "loop_body_returns_none",
        title=_("A loop body without `return`"),
        what=_("`{name}` returns None.").format(name=name),
        variable=name,
        why=_(
            "`lax.{loop}` hands what one turn returns to the next, and a function without `return` gives None."
        ).format(loop=called(call)),
        fixes=[fix],
        link=f"{error_texts.API}/jax.lax.{called(call)}.html",
    )


def _what_to_return(
    source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, carry: str, last: ast.stmt
) -> str | None:
    """Return the names that a body without `return` has made ready for the next turn."""
    stored = set()
    parts: list[str] = []
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.add(node.id)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            stored.add(node.value.id)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == carry:
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
                parts = [source.quote(e) for e in target.elts]
    if carry in stored:
        return carry
    if parts:
        return ", ".join(parts)
    if isinstance(last, ast.Assign) and len(last.targets) == 1 and isinstance(last.targets[0], ast.Name):
        return last.targets[0].id
    return None


def _is_value(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Name | ast.Tuple)


def _container(scene: Scene, start: ast.expr) -> tuple[type, int] | None:
    """Return the kind of container that a loop starts with, and its length; (object, 1) for one array."""
    value: Any = scene.spot.value(start)
    if type(value) in (tuple, list):
        return type(value), len(value)
    if isinstance(start, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in start.elts):
        return (tuple if isinstance(start, ast.Tuple) else list), len(start.elts)
    if value is not MISSING and (isinstance(value, int | float | complex) or hasattr(value, "dtype")):
        return object, 1
    return None


def _same_parts(
    scene: Scene, call: ast.Call, source: Source, result: ast.expr, container: tuple[type, int] | None
) -> Fix | None:
    """Return the fix that lets a turn return the parts that the start has; None where that is not plain."""
    if container is None:
        return None
    kind, count = container
    scan = called(call) == "scan"
    out, output = result, None
    if scan:
        if not isinstance(result, ast.Tuple) or len(result.elts) != 2:
            return None
        out, output = result.elts
    elements = out.elts if isinstance(out, ast.Tuple | ast.List) else None
    if elements is None:
        if scan and kind is tuple and count == 2 and isinstance(result, ast.Tuple):
            text = f"({', '.join(source.quote(e) for e in result.elts)}), None"
            return scene.fix(
                _("If both are the carry: put them into a tuple of their own, and give no output."),
                source.replace(result, text),
            )
        return None
    if kind is not object and len(elements) == count and not isinstance(out, ast.Tuple if kind is tuple else ast.List):
        return scene.fix(
            _("Return the kind of container that went in: a list is no tuple."),
            source.replace(out, _packed(source, elements, kind)),
        )
    if not scan or output is None or len(elements) <= count:
        return None
    rest = elements[count:]
    if not (isinstance(output, ast.Constant) and output.value is None):
        rest = [output, *rest]
    kept = source.quote(elements[0]) if kind is object else _packed(source, elements[:count], kind)
    given = source.quote(rest[0]) if len(rest) == 1 else _packed(source, rest, tuple)
    text = f"{kept}, {given}"
    return scene.fix(
        _("Keep the carry as it came, and give the rest as the output of the turn."), as_pair(source, result, text)
    )


def _packed(source: Source, elements: list[ast.expr], kind: type) -> str:
    text = ", ".join(source.quote(e) for e in elements)
    if kind is list:
        return f"[{text}]"
    return f"({text},)" if len(elements) == 1 else f"({text})"
