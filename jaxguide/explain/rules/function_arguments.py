"""Explain functions that take another number of arguments than JAX's loops, branches and maps give them."""

import ast
import functools
import inspect
import re
from typing import Any

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.source import FunctionNode
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, parameters

# For each function of `jax.lax`: where its functions are, how many arguments they get, and which argument holds them.
_GIVEN: dict[str, tuple[tuple[tuple[int, str], ...], int, tuple[int, str]]] = {
    "scan": (((0, "f"),), 2, (2, "xs")),
    "while_loop": (((0, "cond_fun"), (1, "body_fun")), 1, (2, "init_val")),
    "fori_loop": (((2, "body_fun"),), 2, (3, "init_val")),
    "map": (((0, "f"),), 1, (1, "xs")),
}


@explains(structure_texts.ARGUMENT_COUNT)
def function_arguments(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop's body, a branch or a mapped function with another number of parameters than JAX passes."""
    call = scene.call()
    if call is None or not _is_of_lax(scene, call):
        return None
    if called(call) in ("cond", "switch"):
        return _branch(scene, call)
    if called(call) not in _GIVEN:
        return None
    places, count, holder = _GIVEN[called(call)]
    if called(call) == "map" and found[1] == "map" and len(call.args) > 2:
        return _mapped_together(scene, call)
    nodes = [node for place in places if (node := argument_of(call, *place)) is not None]
    wrong = [
        (node, takes)
        for node in nodes
        if (takes := taken(scene, node)) is not None and not is_callable_with(takes, count)
    ]
    if not wrong:
        return None
    node, (least, most) = wrong[0]
    fixes = [_unpacking(scene, call, wrong, count, holder) or _one_more(scene, call, node, least, count)]
    if not any(fixes) and least > count:
        words = "Let it take {count} arguments, and bind what stays the same with a `lambda` or `functools.partial`."
        one = "Let it take one argument, and bind what stays the same with a `lambda` or `functools.partial`."
        fixes = [scene.advice(one if count == 1 else words.format(count=count))]
    return _explained(scene, call, node, (least, most), count, fixes)


def _explained(
    scene: Scene, call: ast.Call, node: ast.expr, takes: tuple[int, int | None], given: int, fixes: list[Fix | None]
) -> Explanation | None:
    name = _name(scene, node)
    least, most = takes
    needs = most if most is not None and most < given else least
    return scene.explanation(
        "function_arguments",
        title=f"`{scene.quote(call.func)}` was given a function that takes another number of arguments",
        what="`{name}` takes {takes}, and is given {given}.".format(
            name=name,
            takes=plural("{count} argument", "{count} arguments", needs),
            given=str(given),
        ),
        variable=name,
        why=_why(called(call)),
        fixes=fixes,
        link=f"{error_texts.API}/jax.lax.{called(call)}.html",
    )


def _why(function: str) -> str:
    return {
        "scan": "`lax.scan` gives its body two arguments: the carry, and one entry of `xs`, a tuple if `xs` is one.",
        "while_loop": "`lax.while_loop` gives its functions one argument: the carry, a tuple if it starts as one.",
        "fori_loop": "`lax.fori_loop` gives its body two arguments: the number of the turn, and the carry.",
        "map": "`lax.map` gives its function one argument: one entry of `xs`, a tuple if `xs` is one.",
        "cond": "`lax.cond` gives both branches the operands that follow them, whichever is taken.",
        "switch": "`lax.switch` gives every branch the operands that follow the list.",
    }[function]


def _is_of_lax(scene: Scene, call: ast.Call) -> bool:
    """Return whether a call calls a function of JAX, not one of the student's with the same name."""
    module = getattr(scene.spot.value(call.func), "__module__", None)
    return isinstance(module, str) and module.split(".")[0] == "jax"


def taken(scene: Scene, node: ast.expr) -> tuple[int, int | None] | None:
    """Return the least and the largest number of positional arguments that a function takes; no largest for `*args`.

    None if the function is not known, or is a class or another object.
    """
    value = scene.spot.value(node)
    if isinstance(node, ast.Lambda):
        return _of_definition(node, 0)
    if isinstance(value, functools.partial) or inspect.isfunction(value) or inspect.ismethod(value):
        try:
            found = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            return None
        places = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        least = sum(p.default is p.empty for p in places)
        return least, None if any(p.kind is p.VAR_POSITIONAL for p in found) else len(places)
    if isinstance(node, ast.Call) and called(node) == "partial" and node.args and not node.keywords:
        inner = taken(scene, node.args[0])
        bound = len(node.args) - 1
        if inner is None or any(isinstance(argument, ast.Starred) for argument in node.args):
            return None
        return max(inner[0] - bound, 0), None if inner[1] is None else inner[1] - bound
    place = function_behind(scene.spot, node) if isinstance(node, ast.Attribute) else None
    return _of_definition(place[1], len(place[1].args.args) - len(parameters(place[1]))) if place is not None else None


def _of_definition(function: FunctionNode, bound: int) -> tuple[int, int | None]:
    count = len(function.args.posonlyargs) + len(function.args.args) - bound
    return count - len(function.args.defaults), None if function.args.vararg is not None else count


def is_callable_with(takes: tuple[int, int | None], count: int) -> bool:
    """Return whether a function that takes so many arguments can be called with `count`."""
    least, most = takes
    return least <= count and (most is None or count <= most)


def _name(scene: Scene, node: ast.expr) -> str:
    return "lambda" if isinstance(node, ast.Lambda) else scene.quote(node)


def _parts(scene: Scene, node: ast.expr | None) -> int | None:
    """Return the number of parts of a tuple or list; None for anything else."""
    value = scene.spot.value(node)
    if isinstance(node, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in node.elts):
        return len(node.elts)
    return len(value) if isinstance(value, tuple | list) else None


def _unpacking(
    scene: Scene,
    call: ast.Call,
    wrong: list[tuple[ast.expr, tuple[int, int | None]]],
    count: int,
    holder: tuple[int, str],
) -> Fix | None:
    """Return the fix that hands over the parts of a tuple one by one, if the functions take just as many."""
    parts = _parts(scene, argument_of(call, *holder))
    if parts is None or any(not is_callable_with(takes, count - 1 + parts) for _node, takes in wrong):
        return None
    before = {"scan": "carry, ", "fori_loop": "i, "}.get(called(call), "")
    name = {"scan": "entries", "map": "entries"}.get(called(call), "carry")
    edits = [
        scene.source.replace(node, f"lambda {before}{name}: {scene.atom(node)}({before}*{name})") for node, _t in wrong
    ]
    return scene.fix("Hand over the parts of the tuple one by one.", *edits)


def _one_more(scene: Scene, call: ast.Call, node: ast.expr, least: int, count: int) -> Fix | None:
    """Return the fix that adds a parameter for an argument that a body with too few does not take."""
    place = function_behind(scene.spot, node)
    own = parameters(place[1]) if place is not None else []
    if place is None or count != 2 or least != 1 or len(own) != 1:
        return None
    if called(call) == "fori_loop":
        first = next(name for name in ("i", "_", "turn") if name != own[0].arg)
        return scene.fix("Take the number of the turn first.", place[0].insert_before(own[0], f"{first}, "))
    entry = "_" if own[0].arg != "_" else "x"
    return scene.fix("Take the entry of `xs` too, even if it is not used.", place[0].insert_after(own[0], f", {entry}"))


def _mapped_together(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain `lax.map(f, xs, ys)`."""
    function, *arrays = call.args
    given = ", ".join(scene.quote(array) for array in arrays)
    takes = taken(scene, function)
    edits: list[Edit | None] = [
        scene.source.replace(function, f"lambda entries: {scene.atom(function)}(*entries)"),
        Edit(scene.source.file, scene.source.start(arrays[0]), scene.source.end(arrays[-1]), f"({given})"),
    ]
    fitting = takes is not None and is_callable_with(takes, len(arrays))
    return scene.explanation(
        "function_arguments",
        title=f"`{scene.quote(call.func)}` was given more than one argument to map over",
        what=f"`{scene.quote(arrays[1])}` follows `{scene.quote(arrays[0])}`.",
        variable=scene.quote(arrays[1]),
        why=_why("map"),
        fixes=[
            scene.fix("Map over a tuple of them.", *(edits if fitting else [None])),
            scene.advice("Or use `jax.vmap`, which maps over several arguments and computes all at once."),
        ],
        link=f"{error_texts.API}/jax.lax.map.html",
    )


def _branch(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain branches of `lax.cond` and `lax.switch` that do not take the operands."""
    if called(call) == "cond":
        branches, operands = call.args[1:3], call.args[3:]
    else:
        listed = call.args[1] if len(call.args) > 1 else None
        branches, operands = (listed.elts if isinstance(listed, ast.List | ast.Tuple) else []), call.args[2:]
    if call.keywords or any(isinstance(a, ast.Starred) for a in [*branches, *operands]) or not branches:
        return None
    takes = [(node, taken(scene, node)) for node in branches]
    wrong = [(node, t) for node, t in takes if t is not None and not is_callable_with(t, len(operands))]
    if not wrong or any(t is None for _node, t in takes):
        return None
    fixes: list[Fix | None] = []
    parts = _parts(scene, operands[0]) if len(operands) == 1 else None
    if parts is not None and all(t is not None and is_callable_with(t, parts) for _node, t in takes):
        fixes.append(
            scene.fix(
                "Give the parts of the tuple as operands.",
                scene.source.replace(operands[0], _as_operands(scene, operands[0])),
            )
        )
    elif operands and all(t == (0, 0) for _node, t in takes):
        end = call.args[2] if called(call) == "cond" else call.args[1]
        cut = Edit(scene.source.file, scene.source.end(end), scene.source.end(operands[-1]), "")
        fixes.append(scene.fix("Leave the operands out: these branches use what is around them.", cut))
    elif all(t[1] is not None and t[1] < len(operands) for _node, t in wrong):
        edits = [_with_rest(scene, node) for node, _t in wrong]
        fixes.append(scene.fix("Let every branch take all operands, even if it uses only some.", *edits))
    if not any(fixes):
        fixes = [scene.advice("Give as many operands after the branches as every branch takes.")]
    return _explained(scene, call, wrong[0][0], wrong[0][1], len(operands), fixes)


def _as_operands(scene: Scene, node: ast.expr) -> str:
    if isinstance(node, ast.Tuple) and node.elts:
        return ", ".join(scene.quote(element) for element in node.elts)
    return f"*{scene.atom(node)}"


def _with_rest(scene: Scene, node: ast.expr) -> Edit | None:
    """Return the edit that lets a branch take further arguments."""
    place = function_behind(scene.spot, node)
    if place is None:
        return None
    source, function = place
    if isinstance(function, ast.Lambda) and not function.args.args:
        return source.replace(function, f"lambda *_: {source.quote(function.body)}")
    own = parameters(function)
    plain = own and not function.args.kwonlyargs and not function.args.defaults and function.args.kwarg is None
    return source.insert_after(own[-1], ", *_") if plain else None


@explains(structure_texts.NOT_A_FUNCTION)
def function_elsewhere(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.scan(init, f, xs)`, and other calls whose functions are not where they belong."""
    call = scene.call()
    if call is None or called(call) not in _ORDER or called(call) not in found[1]:
        return None
    places = _ORDER[called(call)][1]
    wrong = [a for i, a in enumerate(call.args) if i in places and not _is_callable(scene, a)]
    if not wrong:
        return None
    node = wrong[0]
    value = scene.spot.value(node)
    return scene.explanation(
        "function_elsewhere",
        title=f"`{scene.quote(call.func)}` was given something that is not a function",
        what=scene.what(scene.quote(node), value)
        if value is not MISSING
        else f"`{scene.quote(node)}` is given as a function.",
        variable=scene.quote(node),
        why=f"The order of its arguments is `{_ORDER[called(call)][0]}`.",
        fixes=[scene.advice("Give the function itself, not its result, in its place.")],
        link=f"{error_texts.API}/jax.lax.{called(call)}.html",
    )


_ORDER: dict[str, tuple[str, tuple[int, ...]]] = {
    "scan": ("lax.scan(f, init, xs)", (0,)),
    "while_loop": ("lax.while_loop(cond_fun, body_fun, init_val)", (0, 1)),
    "fori_loop": ("lax.fori_loop(lower, upper, body_fun, init_val)", (2,)),
}


def _is_callable(scene: Scene, node: ast.expr) -> bool:
    value: Any = scene.spot.value(node)
    return isinstance(node, ast.Lambda) or (value is not MISSING and callable(value))


@explains(structure_texts.NO_LEADING_AXIS, error_texts.NOT_JAX_TYPE)
def scan_over_numbers(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.scan(f, 0, [1, 2, 3])`, `lax.scan(f, 0, range(3))` and a number among the arrays."""
    call = scene.call()
    if call is None or called(call) not in ("scan", "map"):
        return None
    xs = argument_of(call, *_GIVEN[called(call)][2])
    value = scene.spot.value(xs)
    if xs is None:
        return None
    text, function = scene.quote(xs), called(call)
    listed = isinstance(xs, ast.Call) and scene.spot.value(xs.func) in (list, tuple) and len(xs.args) == 1
    inner = xs.args[0] if listed and isinstance(xs, ast.Call) else xs
    counted = isinstance(value, range) or (isinstance(inner, ast.Call) and scene.spot.value(inner.func) is range)
    fixes: list[Fix | None] = []
    if found.re is error_texts.NOT_JAX_TYPE.text and not counted:
        return None
    if counted:
        what = (
            "Each leaf of `{name}` is a number, which has no axis." if listed else "`{name}` is a `range` here."
        ).format(name=text)
        new = scene.source.replace(xs, f"{scene.jnp}.array({text})")
        if isinstance(inner, ast.Call):
            new = scene.source.replace(xs, f"{scene.jnp}.arange{scene.quote(inner)[len(scene.quote(inner.func)) :]}")
        fixes.append(scene.fix("Count with an array.", new))
    elif isinstance(value, int) and not isinstance(value, bool):
        what = f"`{text}` is the number {value} here."
        fixes.append(scene.fix("Count with an array.", scene.source.replace(xs, f"{scene.jnp}.arange({text})")))
    elif isinstance(value, list | tuple) and value and all(isinstance(v, int | float | complex) for v in value):
        what = scene.what(text, value)
        fixes.append(
            scene.fix("Make one array of the numbers.", scene.source.replace(xs, f"{scene.jnp}.array({text})"))
        )
    elif isinstance(xs, ast.Call | ast.ListComp) and value is MISSING:
        what = f"Among the leaves of `{text}` is a number, which has no axis."
        fixes.append(
            scene.advice(
                f"If all are numbers, make one array of them: `{scene.jnp}.array({text})`. If not, leave the number "
                "out, and use it from outside the body."
            )
        )
    else:
        what = f"Among the leaves of `{text}` is a number, which has no axis."
        fixes.append(scene.advice("Leave the number out of what is taken apart, and use it from outside the body."))
    return scene.explanation(
        "scan_over_numbers",
        title=f"`lax.{function}` has no axis to go along",
        what=what,
        variable=text,
        why=f"`lax.{function}` takes one entry after the other, along the first axis of every array.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.lax.{function}.html",
    )
