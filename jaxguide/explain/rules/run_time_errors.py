"""Explain deleted arrays, NaN and infinity, and checks in a program that `checkify.checkify` does not wrap."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, UserFrame, is_array, is_tracer
from jaxguide.compat import error_texts, sharding_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import jit_call_of
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import TRANSFORMS, makers
from jaxguide.jaxpr.value_words import array_type


@explains(error_texts.DELETED)
def deleted_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an array that was donated to a jitted function and used again."""
    part = scene.spot.first(scene.spot.statement, _is_deleted)
    if part is None or _donation(scene, scene.quote(part[0])) is None:
        held = _with_deleted_part(scene)
        if held is not None or part is None:
            return held
    text, value = scene.quote(part[0]), part[1]
    giver = _donation(scene, text)
    fixes: list[Fix | None] = []
    if giver is not None:
        call, node = giver
        fixes.append(_with_result(scene, scene.spot, call, part[0], value))
        fixes.append(
            scene.fix(
                "Give away a copy, and keep this one.",
                scene.source.replace(node, f"{scene.jnp}.copy({text})"),
            )
        )
        for function in scene.source.functions(called(call)):
            declared = jit_call_of(scene.source, function)
            if declared is not None:
                fixes.append(_without_donation(scene, declared))
        what = f"`{text}` was an array {array_type(value)}, and was given away in `{scene.quote(call)}`."
    else:
        what = f"`{text}` was an array {array_type(value)}."
        deletion = _deletion(scene, text)
        if deletion is not None:
            sentence = "Delete it only when it is not needed any more."
            fixes.append(scene.fix(sentence, scene.source.remove_statement(deletion)))
        else:
            fixes.append(
                scene.advice(
                    "Find where it was given away, maybe under another name, to a function with `donate_argnums` "
                    "or `donate_argnames`, and go on with what that returned, or give it a copy."
                )
            )
    return scene.explanation(
        "deleted_array",
        title="An array whose memory is gone",
        what=what,
        variable=text,
        why="A donated argument gives its memory to the result, so it cannot be read afterwards."
        if giver is not None
        else "Its memory was freed, so it cannot be read.",
        fixes=fixes,
        link="https://docs.jax.dev/en/latest/buffer_donation.html",
    )


def _with_deleted_part(scene: Scene) -> Explanation | None:
    """Explain a dict or tuple whose arrays were donated, in the student's frames from the inside out."""
    for spot in reversed(scene.spots):
        if spot.source is None or spot.statement is None:
            continue
        for node, value in _wholes(spot):
            if not isinstance(value, dict | list | tuple):
                continue
            gone = [jax.tree_util.keystr(path) for path, leaf in _leaves(value) if _is_deleted(leaf)]
            inner = scene.at(spot)
            giver = _donation(inner, spot.quote(node)) if gone else None
            if giver is None:
                continue
            call, argument = giver
            text = spot.quote(node)
            again = call is spot.source.around(spot.node, ast.Call)
            new = f"{scene.jax}.tree.map({scene.jnp}.copy, {text})"
            return scene.explanation(
                "deleted_array",
                title="An array whose memory is gone",
                what="`{name}` was given away in `{call}`.".format(name=f"{text}{gone[0]}", call=spot.quote(call)),
                variable=f"{text}{gone[0]}",
                why="A donated argument gives its memory to the result, so it cannot be read afterwards.",
                fixes=[
                    scene.advice(f"Go on with the result of `{spot.quote(call.func)}`, not with what was given.")
                    if again
                    else _with_result(inner, spot, call, node, value),
                    scene.fix("Give away a copy, and keep this one.", spot.source.replace(argument, new)),
                ],
                link="https://docs.jax.dev/en/latest/buffer_donation.html",
                line=spot.line,
            )
    return None


def _with_result(scene: Scene, spot: UserFrame, call: ast.Call, node: ast.expr, value: Any) -> Fix | None:
    """Return the fix that reads what the call returned in place of what it was given, if both are of one kind."""
    source, statement = spot.source, spot.statement
    made = source.parents.get(call) if source is not None else None
    if source is None or statement is None or not isinstance(made, ast.Assign) or len(made.targets) != 1:
        return None
    targets = made.targets[0].elts if isinstance(made.targets[0], ast.Tuple) else made.targets
    like = [target for target in targets if _is_alike(spot.value(target), value)]
    used = {source.quote(part) for part, _value in spot.parts(statement)}
    if len(like) != 1 or source.quote(like[0]) in used:  # nothing replaces it, or the new values are read already
        return None
    outer: list[ast.AST] = []
    here: ast.AST | None = made
    while here is not None:
        outer.append(here)
        here = source.parents.get(here)
    if any(isinstance(one, ast.For | ast.While) for one in outer):
        return scene.advice(f"Go on with the result of `{source.quote(call.func)}`, not with what was given.")
    here = statement
    while isinstance(here, ast.stmt) and made not in source.body_of(here):
        here = source.parents.get(here)
    if not isinstance(here, ast.stmt) or made.lineno >= here.lineno:  # it is not set before, or not always
        return None
    return scene.fix(
        f"If the new values are meant, read `{source.quote(like[0])}`, which `{source.quote(call.func)}` returned.",
        source.replace(node, source.quote(like[0])),
    )


def _is_alike(new: Any, old: Any) -> bool:
    """Return whether a value could replace another one: other arrays, in the same containers, of the same types."""
    if new is MISSING or new is old or any(_is_deleted(leaf) for leaf in jax.tree.leaves(new)):
        return False
    return _kinds(new) == _kinds(old)


def _kinds(value: Any) -> tuple[Any, ...]:
    """Return the structure of a tree, and the shape and dtype of each leaf."""
    leaves, structure = jax.tree.flatten(value)
    return structure, *((getattr(leaf, "shape", None), getattr(leaf, "dtype", None)) for leaf in leaves)


def _wholes(spot: UserFrame) -> Iterator[tuple[ast.expr, Any]]:
    """Yield the names and attributes that a statement reads, also those of which it takes an item."""
    for node, value in spot.parts(spot.statement) if spot.statement is not None else ():
        while isinstance(node, ast.Subscript):
            node = node.value
            value = spot.value(node)
        if isinstance(node, ast.Name | ast.Attribute):
            yield node, value


def _leaves(value: Any) -> list[tuple[Any, Any]]:
    return jax.tree_util.tree_leaves_with_path(value)


@explains(sharding_texts.DONATED_TWICE, sharding_texts.DONATED_AND_USED)
def donated_twice(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain one array that is given twice to a function which donates it."""
    call = scene.call()
    if call is None:
        return None
    seen: dict[int, tuple[str, ast.expr]] = {}
    for node in [*call.args, *(k.value for k in call.keywords)]:
        value = scene.spot.value(node)
        for path, leaf in _leaves(value) if value is not MISSING else []:
            if not is_array(leaf):
                continue
            text = scene.quote(node) if isinstance(node, ast.Name | ast.Attribute) else "..."
            text += jax.tree_util.keystr(path)
            if id(leaf) not in seen:
                seen[id(leaf)] = (text, node)
                continue
            return _given_twice(scene, call, seen[id(leaf)][0], text, node, leaf is value)
    return None


def _given_twice(
    scene: Scene, call: ast.Call, first: str, last: str, node: ast.expr, whole: bool
) -> Explanation | None:
    sentence = "Give a copy the second time."
    return scene.explanation(
        "donated_twice",
        title="One array is given twice, and donated",
        what=f"`{first}` and `{last}` are the same array in `{scene.quote(call)}`."
        if first != last
        else f"`{first}` is given twice in `{scene.quote(call)}`.",
        variable=last,
        why="A donated argument gives its memory to the result, which can be done only once.",
        fixes=[
            scene.fix(sentence, scene.source.replace(node, f"{scene.jnp}.copy({scene.quote(node)})"))
            if whole
            else scene.advice("Make them different arrays: one of them a copy, with `jnp.copy`."),
        ],
        link="https://docs.jax.dev/en/latest/buffer_donation.html",
    )


@explains(error_texts.NAN)
def not_a_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a NaN or infinity that `jax_debug_nans` or `jax_debug_infs` found."""
    kind, primitive = found[1], found[2].rstrip(".")
    node = scene.node
    source = scene.source
    there = _already_there(scene, kind)
    if there is not None:
        return there
    fixes: list[Fix | None] = []
    operand: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        operand = node.right
        bottom = scene.quote(operand)
        safe = f"{scene.jnp}.where({bottom} == 0, 1.0, {bottom})"
        divisor = _values(scene.spot.value(operand))
        if divisor is None or bool((divisor == 0).any()):
            fixes.append(
                scene.fix(
                    (
                        "If the divisor may be 0, and the result is 0 then, choose a safe divisor first: so gradients "
                        "stay finite too."
                    ),
                    source.replace(node, f"{scene.jnp}.where({bottom} == 0, 0.0, {scene.atom(node.left)} / {safe})"),
                )
            )
    elif (
        isinstance(node, ast.Call) and len(node.args) == 1 and called(node) in ("log", "sqrt", "log2", "log10", "log1p")
    ):
        operand = node.args[0]
        inner, function = scene.quote(operand), scene.quote(node.func)
        edge = {"log1p": "> -1"}.get(called(node), "> 0")
        safe = f"{function}({scene.jnp}.where({inner} {edge}, {inner}, 1.0))"
        argument = _values(scene.spot.value(operand))
        inside = (argument > (-1 if called(node) == "log1p" else 0)) if argument is not None else None
        never = inside is not None and inside.size > 1 and not inside.any()
        if never or (called(node) != "log1p" and _is_negated(scene, operand)):
            fixes.append(
                scene.advice(
                    f"Look at the argument, and its sign: no value of `{inner}` is {edge} here."
                    if never
                    else f"Look at the sign: `{inner}` is never > 0."
                )
            )
        else:
            fixes.append(
                scene.fix(
                    "If the input may lie outside the domain, and the result is 0 then, make the input safe first.",
                    source.replace(node, f"{scene.jnp}.where({inner} {edge}, {safe}, 0.0)"),
                )
            )
    part = scene.spot.first(operand if operand is not None else node, lambda v: is_array(v) or isinstance(v, float))
    text, value = (scene.quote(part[0]), part[1]) if part is not None else (None, MISSING)
    before = _line_of_derivative(scene) if not fixes else None
    if before is not None:
        fixes.append(_safe_root(scene, before))
    fixes.append(
        scene.fix(
            "Find the first one, with its operands: `jaxguide.debug.find_nan`.",
            code=_search(scene),
        )
    )
    shown = scene.what(text, value) if text is not None else ""
    if isinstance(value, jax.Array) and not is_tracer(value) and value.size <= 6:
        shown = f"`{text}` is {np.asarray(value)} here."
    elif isinstance(value, float):
        shown = f"`{text}` is {value} here."
    if before is not None:
        shown = f"It happened in the derivative of line {before.line.number}: `{before.line.text()}`."
        operands = _operands_of_nan(scene.error, primitive) if kind == "nan" else None
        if operands is not None:
            shown = (
                f"In the derivative of line {before.line.number}, `{before.line.text()}`, its operands are "
                f"{operands[0]:g} and {operands[1]:g}."
            )
    return scene.explanation(
        "not_a_number",
        title=f"`{primitive}` made a NaN" if kind == "nan" else f"`{primitive}` made an infinity",
        what=shown,
        variable=text,
        why="For this input the result is not a number; `jax_debug_nans` stops at the first place where that happens."
        if kind == "nan"
        else "For this input the result is too large; `jax_debug_infs` stops at the first place where that happens.",
        fixes=fixes,
        link="https://docs.jax.dev/en/latest/debugging/flags.html",
    )


def _already_there(scene: Scene, kind: str) -> Explanation | None:
    """Explain a NaN or infinity that an operand had before the operation; None if none is known to have one."""
    if not isinstance(scene.node, ast.BinOp | ast.Call | ast.UnaryOp):
        return None
    bad = np.isnan if kind == "nan" else np.isinf
    word = "NaN" if kind == "nan" else "infinity"
    part = scene.spot.first(scene.node, lambda v: (known := _values(v)) is not None and bool(bad(known).any()))
    if part is None:
        return None
    text = scene.quote(part[0])
    if isinstance(part[1], float) and text.endswith((".inf", ".nan")):
        option = "jax_debug_nans" if kind == "nan" else "jax_debug_infs"
        return scene.explanation(
            "not_a_number",
            title=f"This line writes `{text}` itself",
            variable=text,
            why=f"`{option}` stops at every {word}, also at one that is meant.",
            fixes=[
                scene.advice(f"If it is meant, switch `{option}` off for this line, or take a large finite number.")
            ],
            link="https://docs.jax.dev/en/latest/debugging/flags.html",
        )
    return scene.explanation(
        "not_a_number",
        title=f"`{text}` already holds {word}",
        what=scene.what(text, part[1]),
        variable=text,
        why=f"What is computed from {word} is mostly {word} again, and this is only the first result that JAX checks.",
        fixes=[scene.advice(f"Find where `{text}` gets it: from what was read, or on a line before this one.")],
        link="https://docs.jax.dev/en/latest/debugging/flags.html",
    )


def _values(value: Any) -> np.ndarray | None:
    """Return a number or the numbers of an array, if they are known and real."""
    if isinstance(value, int | float):
        return np.asarray(value, np.float32)
    if is_tracer(value) or not is_array(value) or _is_deleted(value):
        return None
    if isinstance(value, jax.Array) and not value.is_fully_addressable:
        return None
    return np.asarray(value) if jax.dtypes.issubdtype(value.dtype, np.floating) else None


def _is_negated(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression is minus something that is never negative, such as `-x**2` or `-jnp.exp(x)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.UnaryOp):
        return isinstance(node.left.op, ast.USub) and ast.dump(node.left.operand) == ast.dump(node.right)
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.USub):
        return False
    inner = node.operand
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow):
        return isinstance(inner.right, ast.Constant) and inner.right.value in (2, 4, 6)
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult):
        return ast.dump(inner.left) == ast.dump(inner.right)
    home = str(getattr(scene.spot.value(inner.func), "__module__", "")) if isinstance(inner, ast.Call) else ""
    return called(inner) in ("abs", "exp", "sqrt", "square") and home.split(".")[0] in ("jax", "builtins")


def _line_of_derivative(scene: Scene) -> UserFrame | None:
    """Return the frame whose line was differentiated, if a gradient failed: JAX keeps that traceback as the cause."""
    call, cause = scene.call(), scene.error.__cause__
    if call is None or cause is None or not any(called(made) in TRANSFORMS for made in makers(scene, call)):
        return None
    spots = Scene(cause).spots
    inner = spots[-1] if spots else None
    return inner if inner is not None and inner.line.text() and inner.line != scene.spot.line else None


def _operands_of_nan(error: BaseException, primitive: str) -> tuple[float, float] | None:
    """Return the two operands that made the first NaN of a product or quotient; None if they are not known."""
    operands = [np.asarray(one) for one in compat.operands_of_nan(error)]
    function = {"mul": np.multiply, "div": np.divide}.get(primitive)
    if function is None or len(operands) != 2 or operands[0].dtype.kind != "f" or operands[1].dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        places = np.argwhere(np.isnan(function(*operands)))
    if not len(places):
        return None
    one, other = (float(value[tuple(places[0])]) for value in np.broadcast_arrays(*operands))
    return one, other


def _safe_root(scene: Scene, spot: UserFrame) -> Fix | None:
    """Return advice on a line with a square root or a norm, whose slope at 0 is not finite."""
    calls = spot.source.calls() if spot.source is not None else []
    on_line = [call for call in calls if call.lineno <= spot.line.number <= (call.end_lineno or 0)]
    root = next((call for call in on_line if called(call) in ("sqrt", "norm")), None)
    if root is None or spot.source is None:
        return None
    name = spot.source.quote(root.func)
    words = (
        "`{name}` has no finite slope at 0: where its input is 0, give it another one, as in `{jnp}.where(ok, "
        "{name}({jnp}.where(ok, x, 1.0)), 0.0)` with `ok = x > 0`; to select the result alone does not help."
    )
    if called(root) == "norm":
        words = (
            "`{name}` has no finite slope where all of its input is 0: there, give it another one with `{jnp}.where` "
            "before the call; to select the result alone does not help."
        )
    return scene.advice(words.format(name=name, jnp=scene.jnp))


def _search(scene: Scene) -> str:
    """Return the call of `find_nan` for a failing call of a transformed function, such as `jax.grad(loss)(w)`."""
    call = scene.node
    plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Call) and not call.keywords
    if not isinstance(call, ast.Call) or not plain or any(isinstance(a, ast.Starred) for a in call.args):
        return "find_nan(f, *args)"
    return f"find_nan({', '.join(scene.quote(node) for node in [call.func, *call.args])})"


@explains(structure_texts.NO_BACKEND)
def no_backend(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.devices("gpu")` on a machine where JAX finds no GPU."""
    call = scene.call()
    if call is None or scene.library is not None:
        return None
    given = [node for node in [*call.args, *(k.value for k in call.keywords)] if scene.spot.value(node) == found[1]]
    plain = len(given) == 1 and len(call.args) == 1 and not call.keywords
    return scene.explanation(
        "no_backend",
        title=f"JAX finds no `{found[1]}` here",
        what="This JAX finds: {names}.".format(names=(found[2] or found[3]).strip().replace("'", "")),
        variable=scene.quote(call),
        why="A plain JAX computes on the CPU; accelerators need a plugin that fits them, and a driver.",
        fixes=[
            scene.fix(
                "Take the devices that are there: its default comes first.",
                Edit(scene.source.file, scene.source.start(given[0]), scene.source.end(given[0]), "")
                if plain and called(call) in ("devices", "local_devices", "device_count", "local_device_count")
                else None,
            ),
            scene.advice("For a GPU of NVIDIA, install `jax[cuda13]` or `jax[cuda12]`, as its driver asks.")
            if found[1] in ("gpu", "cuda")
            else scene.advice("For a TPU, install `jax[tpu]` on a machine that has one.")
            if found[1] == "tpu"
            else None,
        ],
        link="https://docs.jax.dev/en/latest/installation.html",
    )


@explains(structure_texts.COMPILED_TYPES)
def compiled_for_others(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a compiled program that is given arrays of other types than it was compiled for."""
    call = scene.call()
    said = structure_texts.COMPILED_TYPE.search(scene.message)
    if call is None or said is None:
        return None
    return scene.explanation(
        "compiled_for_other_types",
        title="A compiled program was given an array of another type",
        what=f"`{said[1]}` is {said[3]}, and `{scene.quote(call.func)}` was compiled for {said[2]}.",
        variable=said[1],
        why="What `.compile()` returns is one program for one shape and dtype, and compiles no other.",
        fixes=[
            scene.advice("Call the jitted function instead: it compiles again for other types."),
            scene.advice("Or compile one program for each type: `f.lower(x).compile()`."),
        ],
        link="https://docs.jax.dev/en/latest/aot.html",
    )


@explains(error_texts.CHECKIFY)
def unwrapped_check(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `checkify.check` in a jitted function that `checkify.checkify` does not wrap."""
    call = scene.call()
    statement = scene.spot.statement
    if call is None or statement is None:
        return None
    function, arguments = scene.quote(call.func), [scene.quote(a) for a in call.args]
    arguments += [f"{k.arg}={scene.quote(k.value)}" for k in call.keywords]
    checked = f"checkify.checkify({function})({', '.join(arguments)})"
    indent = scene.source.indent(statement)
    edits = None
    if isinstance(statement, ast.Expr) and statement.value is call:
        edits = scene.source.replace(statement, f"error, _ = {checked}\n{indent}error.throw()")
    elif isinstance(statement, ast.Assign) and statement.value is call:
        target = scene.quote(statement.targets[0])
        edits = scene.source.replace(statement, f"error, {target} = {checked}\n{indent}error.throw()")
    return scene.explanation(
        "check_not_wrapped",
        title="A check that is never carried out",
        what=f"`{function}` has a `checkify.check` in it.",
        variable=function,
        why="A compiled program cannot raise: `checkify.checkify` makes the error a result, which is raised outside.",
        fixes=[scene.fix("Wrap the function, and raise what it found.", edits, code="" if edits else checked)],
        link="https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
    )


def _is_deleted(value: object) -> bool:
    return value is not MISSING and isinstance(value, jax.Array) and not is_tracer(value) and value.is_deleted()


def _donation(scene: Scene, name: str) -> tuple[ast.Call, ast.expr] | None:
    """Return the last call before the failing line, in the same function, that donates a name, and that argument."""
    best = None
    for call in scene.source.calls():
        if call.lineno > scene.spot.line.number or scene.source.function(call) is not scene.spot.function:
            continue
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
            if scene.quote(argument) == name and _donates(scene.spot, scene, call):
                best = (call, argument)
    return best


def _donates(spot: UserFrame, scene: Scene, call: ast.Call) -> bool:
    for function in scene.source.functions(called(call)):
        declared = jit_call_of(scene.source, function)
        if declared is not None and any((k.arg or "").startswith("donate") for k in declared.keywords):
            return True
    for node in ast.walk(scene.source.tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        named = bool(dotted(call.func)) and dotted(node.targets[0]) == dotted(call.func)
        if named and any((k.arg or "").startswith("donate") for k in node.value.keywords):
            return True
    return False


def _without_donation(scene: Scene, declared: ast.Call) -> Fix | None:
    rest = [k for k in declared.keywords if not (k.arg or "").startswith("donate")]
    arguments = [scene.quote(a) for a in declared.args] + [f"{k.arg}={scene.quote(k.value)}" for k in rest]
    text = f"{scene.quote(declared.func)}({', '.join(arguments)})"
    if dotted(declared.func).endswith("partial") and len(arguments) == 1:
        text = arguments[0]
    elif not arguments:
        text = scene.quote(declared.func)
    return scene.fix("Do not donate: the result then has memory of its own.", scene.source.replace(declared, text))


def _deletion(scene: Scene, name: str) -> ast.stmt | None:
    for node in ast.walk(scene.source.tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(node, ast.Expr) or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "delete" and scene.quote(call.func.value) == name:
            return node
    return None
