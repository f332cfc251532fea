"""Explain `lax.scan`, `lax.while_loop` and `lax.fori_loop`: bodies, conditions, lengths, and carries that change."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.source import FunctionNode, Source
from jaxguide.code.user_frame import MISSING, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, own_nodes, parameters, part_of, returned

_SCAN = f"{error_texts.API}/jax.lax.scan.html"
_LOOPS = ("scan", "while_loop", "fori_loop")
# For each loop: the position and name of its body, and of its initial value.
_BODY = {"scan": (0, "f"), "while_loop": (1, "body_fun"), "fori_loop": (2, "body_fun")}
_START = {"scan": (1, "init"), "while_loop": (2, "init_val"), "fori_loop": (3, "init_val")}


@explains(error_texts.SCAN_PAIR)
def scan_without_pair(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a scan body that returns the carry alone."""
    call = scene.call()
    body = argument_of(call, 0, "f") if call is not None else None
    place = function_behind(scene.spot, body)
    if call is None or place is None or body is None or not called(call).endswith("scan"):
        return None
    source, function = place
    result = returned(function)
    if result is None:
        return _forgotten_return(scene, call, body, source, function)
    if isinstance(result, ast.Tuple) and len(result.elts) > 2:
        return _scan_of_many(scene, call, body, source, result)
    parts = _count_of_parts(scene.message[found.end() :].strip())
    if parts is not None and not isinstance(result, ast.Tuple | ast.List) and _starts_otherwise(scene, call, parts):
        return _pair_in_a_name(scene, call, body, source.quote(result), parts)
    text = source.quote(result)
    lambda_body = isinstance(function, ast.Lambda)
    return scene.explanation(
        "scan_pair",
        title="A scan body that does not return a pair",
        what="`{name}` returns `{text}` alone.".format(name=scene.quote(body).split(":")[0], text=text),
        variable=scene.quote(body) if not lambda_body else text,
        why="`lax.scan` takes from each turn the carry for the next, and an output to stack, which may be None.",
        fixes=[
            scene.fix(
                "Return the carry and no output.",
                source.replace(result, f"({text}, None)" if lambda_body else f"{text}, None"),
            ),
            scene.fix(
                "Keep every turn's value too.",
                source.replace(result, f"({text}, {text})" if lambda_body else f"{text}, {text}"),
            ),
        ],
        link=_SCAN,
    )


def _count_of_parts(text: str) -> int | None:
    """Return the number of parts of a tuple as JAX prints it; None for anything else."""
    if not text.startswith("(") or ")" not in text:
        return None
    depth, parts = 0, 1
    for sign in text.rstrip(".")[1:-1].rstrip(","):
        depth += (sign in "([{") - (sign in ")]}")
        parts += sign == "," and depth == 0
    return parts


def _starts_otherwise(scene: Scene, call: ast.Call, parts: int) -> bool:
    """Return whether a scan does not start with a tuple of so many parts, which its body may return alone."""
    start = argument_of(call, *_START["scan"])
    return start is None or _container(scene, start) != (tuple, parts)


def _pair_in_a_name(scene: Scene, call: ast.Call, body: ast.expr, text: str, parts: int) -> Explanation | None:
    """Explain a scan body that returns a tuple of another length by its name."""
    name = "lambda" if isinstance(body, ast.Lambda) else scene.quote(body)
    return scene.explanation(
        "scan_pair",
        title="A scan body that does not return a pair",
        what=f"`{name}` returns `{text}`, a tuple of {parts}.",
        variable=name,
        why="`lax.scan` takes from each turn the carry for the next, and an output to stack: two values.",
        fixes=[scene.advice("Put what belongs to the carry into one tuple, and the outputs into another.")],
        link=_SCAN,
    )


def _scan_of_many(
    scene: Scene, call: ast.Call, body: ast.expr, source: Source, result: ast.Tuple
) -> Explanation | None:
    """Explain a scan body that returns three values or more."""
    start = argument_of(call, *_START["scan"])
    kind, count = (_container(scene, start) if start is not None else None) or (object, 0)
    texts = [source.quote(element) for element in result.elts]
    carry = texts[0] if kind is object else _packed(source, result.elts[:count], kind)
    rest = result.elts[1 if kind is object else count :]
    text = f"{carry}, {source.quote(rest[0]) if len(rest) == 1 else _packed(source, rest, tuple)}" if rest else ""
    name = "lambda" if isinstance(body, ast.Lambda) else scene.quote(body)
    return scene.explanation(
        "scan_pair",
        title="A scan body that does not return a pair",
        what=f"`{name}` returns {len(texts)} values, `{source.quote(result)}`.",
        variable=name,
        why="`lax.scan` takes from each turn the carry for the next, and an output to stack: two values.",
        fixes=[
            scene.fix(
                "Return the carry, and one tuple of the outputs.",
                _as_pair(source, result, text) if text and count else None,
            )
            or scene.advice("Put what belongs to the carry into one tuple, and the outputs into another.")
        ],
        link=_SCAN,
    )


@explains(error_texts.SCAN_LENGTH, error_texts.SCAN_NO_LENGTH, error_texts.SCAN_SIZES)
def scan_length(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a scan whose length is given twice, is missing, or differs between arrays."""
    call = scene.call()
    if call is None or called(call) != "scan":
        return None
    xs = argument_of(call, 2, "xs")
    length = argument_of(call, 3, "length")
    text = scene.quote(xs) if xs is not None else "None"
    fixes: list[Fix | None] = []
    if length is not None and xs is not None:
        rest = [scene.quote(a) for a in call.args if a is not length]
        rest += [f"{k.arg}={scene.quote(k.value)}" for k in call.keywords if k.value is not length]
        new = f"{scene.quote(call.func)}({', '.join(rest)})"
        edit = scene.source.replace(call, new) if len(call.args) <= 4 else None
        words = "Leave `length` out: the arrays say it."
        fixes.append(scene.fix(words, edit) or scene.advice(words))
        what = f"`{text}` has another length than `length={scene.quote(length)}`."
        why = "`lax.scan` takes one turn for each entry, so the length says nothing new."
        variable = "length"
    elif found.re is error_texts.SCAN_SIZES.text and xs is not None:
        what = f"The arrays in `{text}` have {found[1]} and {found[2]} entries."
        why = "`lax.scan` takes one entry of each array per turn, so all have the same length."
        fewest = min(int(found[1]), int(found[2]))
        new = f"{scene.jax}.tree.map(lambda a: a[:{fewest}], {text})"
        fixes.append(_turned(scene, xs, {int(found[1]), int(found[2])}))
        fixes.append(
            scene.fix("If the last entries are too many: cut them to one length.", scene.source.replace(xs, new))
        )
        variable = text
    else:
        what = "`xs` is None and there is no `length`."
        why = "`lax.scan` must know how many turns there are: from arrays, or from `length`."
        fixes.append(scene.fix("Say how many turns.", code=f"{scene.quote(call)[:-1]}, length=TURNS)"))
        variable = "length"
    return scene.explanation(
        "scan_length",
        title="A scan of no clear length",
        what=what,
        variable=variable,
        why=why,
        fixes=fixes,
        link=_SCAN,
    )


def _turned(scene: Scene, xs: ast.expr, sizes: set[int]) -> Fix | None:
    """Return advice for an array with another axis as long as the first one of the others: perhaps that is the time."""
    value = scene.spot.value(xs)
    for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0] if value is not MISSING else ():
        shape = np.shape(leaf)
        other = [axis for axis, size in enumerate(shape) if axis and {shape[0], size} == sizes]
        if other:
            node = part_of(xs, jax.tree_util.keystr(path))
            name = scene.quote(node) if node is not None else f"{scene.quote(xs)}{jax.tree_util.keystr(path)}"
            words = "If axis {axis} of `{name}` counts the turns: move it to the front with `{jnp}.moveaxis`."
            return scene.advice(words.format(axis=other[0], name=name, jnp=scene.jnp))
    return None


@explains(error_texts.WHILE_CONDITION)
def while_condition(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop condition that is not a boolean scalar."""
    call = scene.call()
    node = argument_of(call, 0, "cond_fun") if call is not None else None
    place = function_behind(scene.spot, node)
    if place is None:
        return None
    source, function = place
    result = returned(function)
    if result is None:
        return None
    text, atom = source.quote(result), source.atom(result)
    new = f"{atom} != 0" if not found[2] else f"{scene.jnp}.any({text})"
    return scene.explanation(
        "while_condition",
        title="A loop condition that is not a single truth value",
        what=f"`{text}` is {found[1]}[{found[2]}].",
        variable=text,
        why="`lax.while_loop` asks one question before each turn: its answer is one bool, of shape ().",
        fixes=[
            scene.fix(
                "Compare, so that the result is a bool." if not found[2] else "Make one truth value of them.",
                source.replace(result, new),
            )
        ],
        link=f"{error_texts.API}/jax.lax.while_loop.html",
    )


@explains(error_texts.CARRY_TYPE)
def carry_changes_type(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose carry changes its dtype or shape."""
    call = scene.call()
    if call is None or called(call) not in _LOOPS:
        return None
    types = error_texts.CARRY_TYPES.search(scene.message)
    start = argument_of(call, *_START[called(call)])
    if types is None or start is None:
        return None
    name, dtype, shape, new_dtype, new_shape = types.groups()
    if (dtype, shape) == (new_dtype, new_shape):  # they differ in their axes under `jax.shard_map`: `varying_axes.py`
        return None
    place = function_behind(scene.spot, argument_of(call, *_BODY[called(call)]))
    own = _carry_name(call, place[1]) if place is not None else None
    name = name if own is None else name.replace("loop_carry[1]", own)
    several = len(error_texts.CARRY_TYPES.findall(scene.message)) > 1
    single = "[" not in name and "." not in name and not isinstance(start, ast.Tuple | ast.List | ast.Dict)
    if "key<" in dtype + new_dtype:
        fixes: list[Fix | None] = [_one_key(scene, dtype, new_dtype)]
    elif shape == new_shape:
        fixes = _same_dtype(scene, call, start, (dtype, new_dtype), single and not several)
    else:
        fixes = _same_shape(scene, call, start, (shape, new_dtype, new_shape), single and not several)
    return scene.explanation(
        "carry_type",
        title="A carry that changes its shape" if shape != new_shape else "A carry that changes its dtype",
        what="`{name}` goes in as {old} and comes out as {new}.".format(
            name=name, old=f"{dtype}[{shape}]", new=f"{new_dtype}[{new_shape}]"
        ),
        variable=name,
        why="One turn is compiled once and used for all, so what comes out must fit what goes in.",
        fixes=fixes,
        link=_SCAN,
    )


def _one_key(scene: Scene, dtype: str, new_dtype: str) -> Fix:
    """Return advice on a carried key that becomes several keys, or a key of another kind."""
    if dtype == new_dtype:
        return scene.advice(f"Carry one key: `key, subkey = {scene.random}.split(key)`.")
    return scene.advice(f"Use one kind of keys throughout: `{scene.random}.key(seed)`.")


def _same_dtype(
    scene: Scene, call: ast.Call, start: ast.expr, dtypes: tuple[str, str], single: bool
) -> list[Fix | None]:
    """Return the fixes for a carry that changes its dtype."""
    if not single:
        fixes = [_start_parts(scene, start)]
        return fixes if any(fixes) else [scene.advice("Start with the dtype that a turn gives.")]
    text = scene.quote(start)
    cast = _cast_result(scene, call, dtypes[0])
    if cast is not None and _is_carried(scene, start):
        return [cast]
    return [
        scene.fix(
            "Start with the dtype that a turn gives.",
            scene.source.replace(start, f"{scene.jnp}.asarray({text}, {scene.jnp}.{dtypes[1]})"),
        ),
        cast,
    ]


def _same_shape(
    scene: Scene, call: ast.Call, start: ast.expr, types: tuple[str, str, str], single: bool
) -> list[Fix | None]:
    """Return the fixes for a carry that changes its shape."""
    shape, new_dtype, new_shape = types
    stacked = _collect(scene, call)
    if stacked is not None:
        return [stacked]
    if _grows(scene, call):
        words = (
            "Keep its length: start with the full length and set one entry in each turn with `.at[...].set`, or drop "
            "an old entry for each new one."
        )
        return [scene.advice(words)]
    if single and shape in ("", "1") and new_shape and not _is_carried(scene, start):
        size = f"({new_shape},)" if "," not in new_shape else f"({new_shape})"
        text = f"{scene.jnp}.asarray({scene.quote(start)}, {scene.jnp}.{new_dtype})"
        return [
            scene.fix(
                "Start with the shape that a turn gives.",
                scene.source.replace(start, f"{scene.jnp}.broadcast_to({text}, {size})"),
            ),
            scene.advice("Or reduce it to one number in every turn, as `.sum()` does, if one number is meant.")
            if not shape
            else None,
        ]
    words = "Return it with shape {shape}, as it went in, or start with shape {new}."
    return [scene.advice(words.format(shape=_tuple(shape), new=_tuple(new_shape)))]


def _is_carried(scene: Scene, start: ast.expr) -> bool:
    """Return whether the start is traced by a loop around this one, whose carry it may be."""
    value = scene.spot.value(start)
    return is_tracer(value) and scene.under(value).startswith("lax.")


def _tuple(shape: str) -> str:
    return f"({shape},)" if shape and "," not in shape else f"({shape})"


def _grows(scene: Scene, call: ast.Call) -> bool:
    """Return whether a body joins arrays, so that one of them gets longer in each turn."""
    place = function_behind(scene.spot, argument_of(call, *_BODY[called(call)]))
    names = ("append", "concatenate", "hstack", "vstack", "stack", "insert", "pad")
    return place is not None and any(called(node) in names for node in ast.walk(place[1]))


def _carry_name(call: ast.Call, function: FunctionNode) -> str | None:
    """Return the name of the carry in the loop body."""
    names = [a.arg for a in parameters(function)]
    place = 1 if called(call) == "fori_loop" else 0
    return names[place] if place < len(names) else None


def _as_pair(source: Source, result: ast.expr, text: str) -> Edit:
    """Return the edit that replaces the body's result with two results, in parentheses inside a lambda."""
    return source.replace(result, f"({text})" if isinstance(source.parents.get(result), ast.Lambda) else text)


def _start_parts(scene: Scene, start: ast.expr) -> Fix | None:
    """Return the fix that converts parts of an initial tuple or list to the dtypes that the body returns."""
    edits: list[Edit] = []
    for name, _dtype, shape, new_dtype, new_shape in error_texts.CARRY_TYPES.findall(scene.message):
        index = re.fullmatch(r".*[a-zA-Z_]\w*(?:\[1\])?\[(\d+)\]", name)
        if index is None or shape != new_shape or not isinstance(start, ast.Tuple | ast.List):
            return None
        if name.count("[") != (2 if name.startswith("loop_carry[1]") else 1) or int(index[1]) >= len(start.elts):
            return None
        part = start.elts[int(index[1])]
        edits.append(scene.source.replace(part, f"{scene.jnp}.asarray({scene.quote(part)}, {scene.jnp}.{new_dtype})"))
    return scene.fix("Start with the dtype that a turn gives.", *edits) if edits else None


def _cast_result(scene: Scene, call: ast.Call, dtype: str) -> Fix | None:
    """Return the fix that converts the body's result to the dtype of the carry that came in."""
    place = function_behind(scene.spot, argument_of(call, *_BODY[called(call)]))
    result = returned(place[1]) if place is not None else None
    if place is None or result is None:
        return None
    out = result.elts[0] if called(call) == "scan" and isinstance(result, ast.Tuple) and result.elts else result
    return scene.fix(
        "Give the result the dtype that went in.",
        place[0].replace(out, f"{place[0].atom(out)}.astype({scene.jnp}.{dtype})"),
    )


def _collect(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix for a carry that grows by `append` or `concatenate`: let scan stack the outputs."""
    place = function_behind(scene.spot, argument_of(call, *_BODY[called(call)]))
    result = returned(place[1]) if place is not None else None
    if called(call) != "scan" or place is None or not isinstance(result, ast.Tuple) or len(result.elts) != 2:
        return None
    source, grown, output = place[0], *result.elts
    carry = _carry_name(call, place[1])
    if not (isinstance(output, ast.Constant) and output.value is None) or carry is None:
        return None
    new = _added(source, grown, carry)
    if new is None:
        return None
    return scene.fix(
        "Do not grow it: give the new entry as the turn's output, and `lax.scan` stacks the outputs.",
        _as_pair(source, result, f"{carry}, {new}"),
    )


def _added(source: Source, grown: ast.expr, carry: str) -> str | None:
    """Return what `jnp.append(c, x)` or `jnp.concatenate([c, x[None]])` adds to `c`; None for anything else."""
    if not isinstance(grown, ast.Call) or not grown.args or grown.keywords:
        return None
    if called(grown) == "append" and len(grown.args) == 2:
        first, new = grown.args
    elif called(grown) in ("concatenate", "hstack", "vstack") and isinstance(grown.args[0], ast.List | ast.Tuple):
        if len(grown.args) != 1 or len(grown.args[0].elts) != 2:
            return None
        first, new = grown.args[0].elts
    else:
        return None
    if not isinstance(first, ast.Name) or first.id != carry:
        return None
    if isinstance(new, ast.Subscript) and isinstance(new.slice, ast.Constant) and new.slice.value is None:
        return source.quote(new.value)
    if isinstance(new, ast.List) and len(new.elts) == 1:
        return source.quote(new.elts[0])
    return source.quote(new)


@explains(error_texts.CARRY_STRUCTURE)
def carry_changes_structure(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose carry changes its number of parts, or its container."""
    call = scene.call()
    if call is None or called(call) not in _LOOPS:
        return None
    body, start = argument_of(call, *_BODY[called(call)]), argument_of(call, *_START[called(call)])
    place = function_behind(scene.spot, body)
    if place is None or body is None or start is None:
        return None
    source, function = place
    result = returned(function)
    carry = _carry_name(call, function)
    if carry is None:
        return None
    if result is None:
        return _forgotten_return(scene, call, body, source, function)
    out: ast.expr | None = result
    if called(call) == "scan":
        out = result.elts[0] if isinstance(result, ast.Tuple) and len(result.elts) == 2 else None
    keys = error_texts.CARRY_KEYS.search(scene.message)
    if keys is not None:
        what = f"`{carry}` goes in and comes out with other keys: {keys[1]} is on one side only."
        fixes: list[Fix | None] = [
            scene.advice(f"Give the start every key that a turn returns, {keys[1]} too, or leave it out of both.")
        ]
    elif (other := error_texts.CARRY_OTHER_KEYS.search(scene.message)) is not None:
        what = f"`{carry}` goes in with the keys {other[1]}, and comes out with the keys {other[2]}."
        fixes = [scene.advice(f"Return the keys that the start has: {other[1]}.")]
    elif isinstance(start, ast.Constant) and start.value is None:
        what = f"`{carry}` goes in as None, and comes out as an array."
        fixes = [scene.advice("Start with an array of the shape and dtype that a turn gives, such as zeros.")]
    else:
        text = source.quote(out) if out is not None else source.quote(result)
        what = "`{name}` goes in as {start}, and a turn returns `{text}`.".format(
            name=carry, start=f"`{scene.quote(start)}`", text=text
        )
        fixes = [
            _same_parts(scene, call, source, result, _container(scene, start))
            or scene.advice("Return as carry just the parts that the start has, in the same kind of container.")
        ]
    return scene.explanation(
        "carry_structure",
        title="A carry that changes its parts",
        what=what,
        variable=carry,
        why="What one turn returns as carry is what the next one takes, so both have the same parts.",
        fixes=fixes,
        link=_SCAN,
    )


def _forgotten_return(
    scene: Scene, call: ast.Call, body: ast.expr, source: Source, function: FunctionNode
) -> Explanation | None:
    """Explain a loop body that ends without `return`; None if it returns anything."""
    carry = _carry_name(call, function)
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
        fix = scene.fix("Return what the last line computes.", *edits)
    elif result is not None:
        said = f"return {result}" + (", None" if scan and "," not in result else "")
        said = f"return ({result}), None" if scan and "," in result else said
        alone = not source.lines[source.start(last)[0] - 1][: source.start(last)[1]].strip()
        line = f"\n{source.indent(last)}{said}" if alone else f"; {said}"
        fix = scene.fix(f"Add `{said}`.", source.insert_after(last, line))
    elif scan:
        fix = scene.advice("End it with `return`, the carry for the next turn, a comma, and an output or None.")
    else:
        fix = scene.advice("End it with `return` and the carry for the next turn.")
    return scene.explanation(
        "loop_body_returns_none",
        title="A loop body without `return`",
        what=f"`{name}` returns None.",
        variable=name,
        why=(
            f"`lax.{called(call)}` hands what one turn returns to the next, and a function without `return` gives None."
        ),
        fixes=[fix],
        link=f"{error_texts.API}/jax.lax.{called(call)}.html",
    )


def _what_to_return(
    source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, carry: str, last: ast.stmt
) -> str | None:
    """Return the names that a body without `return` has computed for the next iteration."""
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
    """Return the type and length of the initial container of a loop; (object, 1) for a single array, else None."""
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
    """Return the fix that makes the body return the parts of the initial value; None if that is not simple."""
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
                "If both are the carry: put them into a tuple of their own, and give no output.",
                source.replace(result, text),
            )
        return None
    if kind is not object and len(elements) == count and not isinstance(out, ast.Tuple if kind is tuple else ast.List):
        return scene.fix(
            "Return the kind of container that went in: a list is not a tuple.",
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
        "Keep the carry as it came, and give the rest as the output of the turn.", _as_pair(source, result, text)
    )


def _packed(source: Source, elements: list[ast.expr], kind: type) -> str:
    text = ", ".join(source.quote(e) for e in elements)
    if kind is list:
        return f"[{text}]"
    return f"({text},)" if len(elements) == 1 else f"({text})"
