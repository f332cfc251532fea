"""Explain keys that are used twice, as `jax.debug_key_reuse` finds them: both uses, and where to split."""

import ast
import itertools
import re
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.code.lines import Line, frames_of_traceback
from jaxguide.code.source import FunctionNode, Source, dotted
from jaxguide.code.user_frame import MISSING, UserFrame
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.explain.transformed import function_behind, own_nodes

_PAGE = "https://docs.jax.dev/en/latest/random-numbers.html"


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


@explains(error_texts.KEY_REUSED)
def used_twice(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a key that was given to a function and had been used before."""
    spot, call, first = _place(scene)
    node = _key_argument(spot, call) if call is not None else None
    if call is None or node is None:
        return None
    text = spot.quote(node)
    if first is None:
        what = f"`{text}` was used before this line."
    elif first == spot.line:
        what = f"`{text}` was used on this line before, in an earlier turn or call."
    else:
        what = "`{name}` was used before, in {line}: `{source}`.".format(
            name=text, line=first, source=first.text() or "..."
        )
    single = isinstance(node, ast.Name) and getattr(spot.value(node), "ndim", None) == 0
    fix = (
        _split_before(scene, spot, node, first) if first is not None and isinstance(node, ast.Name) and single else None
    )
    advice = scene.advice("Split it before the first use, and give each use a key of its own.")
    return _explained(scene, text, what, fix or advice, spot.line)


def _place(scene: Scene) -> tuple[UserFrame, ast.Call | None, Line | None]:
    """Return the frame in which both uses are, its running call, and the line of the first use."""
    cause = scene.error.__cause__ or scene.error.__context__
    first = list(frames_of_traceback(cause.__traceback__)) if cause is not None else []
    same: tuple[UserFrame, ast.Call, Line] | None = None
    for spot in reversed(scene.spots):
        code = spot.frame.f_code
        home = (code.co_filename, code.co_name)
        lines = [line for frame, line in first if (frame.f_code.co_filename, frame.f_code.co_name) == home]
        call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
        if not lines or call is None or _key_argument(spot, call) is None:
            continue
        if lines[-1] != spot.line:
            return spot, call, lines[-1]
        same = same or (spot, call, lines[-1])  # a loop, or a helper that is called twice
    return same or (scene.spot, scene.call(), first[-1][1] if first else None)


@explains(error_texts.KEY_REUSED_INSIDE)
def used_twice_inside(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a jitted function that uses a key twice."""
    call = scene.call()
    place = function_behind(scene.spot, call.func) if call is not None else None
    if call is None or place is None:
        return None
    source, function = place
    pairs = _pairs(scene, source, function)
    label = "<lambda>" if isinstance(function, ast.Lambda) else function.name
    look = scene.advice(f"See both lines: `jaxguide.keys.check_keys({label}, ...)`.")
    if len(pairs) != 1:
        return _explained(scene, label, f"`{label}` uses a key twice.", look)
    name, first, last = pairs[0]
    lines = [Line(source.file, source.start(use)[0]) for use in (first, last)]
    what = f"`{label}` uses `{name}` twice: in {lines[0]}, `{lines[0].text()}`, and in {lines[1]}, `{lines[1].text()}`."
    statements = [source.statement(use) for use in (first, last)]
    fix: Fix | None = None
    if isinstance(function, ast.FunctionDef) and all(one in function.body for one in statements):
        fix = _split(scene, source, name, statements[0], last)
    return _explained(scene, name, what, fix or look, line=lines[1])


@explains(error_texts.KEY_REUSED_IN_LOOP)
def used_in_every_turn(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose turns all use the same key."""
    call = scene.call()
    if call is None:
        return None
    body = next((place for a in call.args[:3] if (place := function_behind(scene.spot, a)) is not None), None)
    held = []
    for node in own_nodes(body[1]) if body is not None else ():
        value = scene.spot.value(node) if isinstance(node, ast.Name) else MISSING
        if isinstance(node, ast.Name) and node.id not in held and _is_key(value):
            held.append(node.id)
    name = held[0] if len(held) == 1 else None
    what = f"Every turn of `{scene.quote(call.func)}` draws from the same key."
    if name is not None:
        what = f"Every turn of `{scene.quote(call.func)}` draws from the same key, `{name}`."
    return _explained(
        scene,
        name,
        what,
        scene.advice("Put a key into the carry and split it in each turn, or split it before, one key for each turn."),
    )


def _explained(scene: Scene, variable: str | None, what: str, fix: Fix, line: Line | None = None) -> Explanation | None:
    return scene.explanation(
        "key_used_twice",
        title="A key is used twice",
        what=what,
        variable=variable,
        why="The same key gives the same numbers, so what is drawn is not independent.",
        fixes=[fix],
        link=_PAGE,
        line=line,
    )


def _key_argument(spot: UserFrame, call: ast.Call) -> ast.expr | None:
    """Return the argument of a call that is a key, or a part of an array of keys."""
    for node in [*call.args, *(k.value for k in call.keywords)]:
        if _is_key(spot.value(node)):
            return node
    for node in [*call.args, *(k.value for k in call.keywords)]:
        if isinstance(node, ast.Subscript) and _is_key(spot.value(node.value)):
            return node
    return None


def _split_before(scene: Scene, spot: UserFrame, node: ast.Name, first: Line) -> Fix | None:
    """Return the fix that splits a key before its first use, and gives the second use the other half."""
    source, second = spot.source, spot.statement
    if source is None or first.file != source.file or second is None:
        return None
    if first.number == spot.line.number:
        return _split(scene, source, node.id, second, node) if _in_loop(source, second) else None
    block = source.body_of(second)
    start = next((one for one in block if one.lineno <= first.number <= (one.end_lineno or 0)), None)
    if start is None or start is second:
        return None
    between = block[block.index(start) : block.index(second)]
    names = [n for one in between for n in ast.walk(one) if isinstance(n, ast.Name) and n.id == node.id]
    if any(isinstance(n.ctx, ast.Store) for n in names):
        return None
    return _split(scene, source, node.id, start, node)


def _in_loop(source: Source, statement: ast.stmt) -> bool:
    parent = source.parents.get(statement)
    return isinstance(parent, ast.For | ast.While)


def _split(scene: Scene, source: Source, name: str, start: ast.stmt | None, use: ast.AST) -> Fix | None:
    """Return the fix that splits a key before a statement, and gives one use the other half."""
    if start is None or not isinstance(use, ast.Name):
        return None
    taken = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    taken |= {n.arg for n in ast.walk(source.tree) if isinstance(n, ast.arg)}
    other = next(new for new in ("subkey", *(f"subkey{i}" for i in range(2, 100))) if new not in taken)
    line = f"{name}, {other} = {scene.random}.split({name})\n{source.indent(start)}"
    return scene.fix(
        f"Split it above {Line(source.file, start.lineno)}, before its first use: each use gets a key of its own.",
        source.insert_before(start, line),
        source.replace(use, other),
    )


def _pairs(scene: Scene, source: Source, function: FunctionNode) -> list[tuple[str, ast.Name, ast.Name]]:
    """Return the keys that a function gives to two calls of `jax.random`, without a new value between them."""
    uses: dict[str, list[ast.Name]] = {}
    stored: dict[str, list[int]] = {}
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.setdefault(node.id, []).append(node.lineno)
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Name):
            continue
        value = scene.spot.value(node.func)
        home = str(getattr(value, "__module__", ""))
        if value is not MISSING and home.startswith(error_texts.RANDOM_MODULES) and dotted(node.func):
            uses.setdefault(node.args[0].id, []).append(node.args[0])
    found = []
    for name, places in uses.items():
        places.sort(key=lambda n: (n.lineno, n.col_offset))
        for one, other in itertools.pairwise(places):
            if not any(one.lineno <= line < other.lineno for line in stored.get(name, [])):
                found.append((name, one, other))
    return found
