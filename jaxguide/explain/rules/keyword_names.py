"""Explain arguments that a function of JAX does not take: renamed, PyTorch's, or NumPy's `out`."""

import ast
import inspect
import re
from types import ModuleType
from typing import Any

import jax

from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts, in_jax
from jaxguide.compat.removals import KEYWORD_REMOVALS
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene

# What PyTorch and NumPy call an argument -> JAX's names, of which the first that the function has is meant.
_HABITS = {
    "dim": ("axis",),
    "dims": ("axis", "axes", "shape"),
    "keepdim": ("keepdims",),
    "size": ("shape",),
    "steps": ("num",),
    "input": ("a", "x"),
    "descending": (),
    "requires_grad": (),
    "out": (),
}
# Functions that return values and indices in PyTorch if they are given `dim`, and what finds the indices in JAX.
_WITH_INDICES = {"max": "argmax", "min": "argmin", "sort": "argsort"}
_RENAMED = {"keepdim": "keepdims"}
_LEFT_OUT = ("out", "requires_grad")


@explains(error_texts.NO_ARGUMENT)
def unknown_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.sum(dim=0)`, `jnp.reshape(x, newshape=(2, 3))` and `jnp.exp(x, out=y)`."""
    call = scene.call()
    if call is None or any(keyword.arg is None for keyword in call.keywords):
        return None
    function = _jax_function(scene, call.func)
    keyword = next((k for k in call.keywords if k.arg == found[2]), None)
    if function is None or keyword is None:
        return None
    if found[2] == "out":
        return _out(scene, call, keyword)
    try:
        declared = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    known = set(declared)
    if found[2] in known or any(p.kind is p.VAR_KEYWORD for p in declared.values()):  # it hands on the others
        return None
    name = _name_of(scene, call.func)
    picked = _picked(scene, call, name) if found[2] == "dim" else None
    if picked is not None:
        return picked
    if name.rpartition(".")[2] in _WITH_INDICES and found[2] == "dim" and _is_unpacked(scene, call):
        return _values_and_indices(scene, call, name.rpartition(".")[2])
    if (name, found[2], len(call.args)) == ("jax.Array.reshape", "shape", 0):
        text = scene.quote(keyword.value)
        return _explained(
            scene, call, keyword, scene.fix("Give it without a name.", scene.source.replace(keyword, text))
        )
    edits: list[Edit] = []
    sentence = ""
    for one in call.keywords:
        if one.arg in known or one.arg is None:
            continue
        new = _new_name(name, one.arg, known - {k.arg for k in call.keywords})
        if new is None:
            return None
        edits.append(_without(scene, call, one) if not new else _as(scene, one, new))
        if one is keyword:
            sentence = f"The argument is called `{new}`." if new else "Leave it out."
    return _explained(scene, call, keyword, scene.fix(sentence, *edits))


def _is_unpacked(scene: Scene, call: ast.Call) -> bool:
    """Return whether the result of a call is assigned to two names."""
    statement = scene.source.parents.get(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return isinstance(target, ast.Tuple) and len(target.elts) == 2


def _values_and_indices(scene: Scene, call: ast.Call, name: str) -> Explanation | None:
    """Explain `values, indices = x.max(dim=1)`: JAX's function returns the values alone."""
    values, indices = _both(scene, call, _WITH_INDICES[name])
    edit = scene.source.replace(call, f"{values}, {indices}") if values else None
    return _no_indices(scene, call, name, scene.fix("Call both, with `axis`.", edit))


def _picked(scene: Scene, call: ast.Call, name: str) -> Explanation | None:
    """Explain `x.max(dim=1)[0]` and `x.max(dim=1).indices`, which take one of PyTorch's two results."""
    last, whole = name.rpartition(".")[2], scene.source.parents.get(call)
    taken = {0: 0, 1: 1, "values": 0, "indices": 1}
    key: Any = None
    if isinstance(whole, ast.Subscript) and whole.value is call:
        key = scene.spot.value(whole.slice)
    elif isinstance(whole, ast.Attribute):
        key = whole.attr
    if last not in _WITH_INDICES or not isinstance(key, int | str) or key not in taken or whole is None:
        return None
    texts = _both(scene, call, _WITH_INDICES[last])
    text = texts[taken[key]]
    function = text.partition("(axis=")[0].partition("(")[0]
    sentence = f"Write `{function}`, which returns one array."
    return _no_indices(scene, call, last, scene.fix(sentence, scene.source.replace(whole, text) if text else None))


def _both(scene: Scene, call: ast.Call, other: str) -> tuple[str, str]:
    """Return the calls that give the values and the indices of PyTorch's `x.max(dim=1)`; '' if that is not clear."""
    if not isinstance(call.func, ast.Attribute):
        return "", ""
    axis = next(f"axis={scene.quote(k.value)}" for k in call.keywords if k.arg == "dim")
    given = [scene.quote(a) for a in call.args]
    rest = [f"{_RENAMED.get(k.arg or '', k.arg)}={scene.quote(k.value)}" for k in call.keywords if k.arg != "dim"]
    arguments = ", ".join([*given, axis, *rest])
    return f"{scene.quote(call.func)}({arguments})", f"{scene.atom(call.func.value)}.{other}({arguments})"


def _no_indices(scene: Scene, call: ast.Call, name: str, fix: Fix | None) -> Explanation | None:
    other = _WITH_INDICES[name]
    return scene.explanation(
        "values_and_indices",
        title="`{function}` has no argument `{name}`, and returns no indices".format(
            function=scene.quote(call.func), name="dim"
        ),
        variable="dim",
        why=f"As in NumPy, it returns the values alone, and `{other}` finds where they are.",
        fixes=[fix],
        link=f"{error_texts.API}/jax.numpy.{other}.html",
    )


@explains(error_texts.NO_OUT)
def unsupported_out(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.sum(x, out=y)`, which JAX declares and refuses."""
    call = scene.call()
    keyword = next((k for k in call.keywords if k.arg == "out"), None) if call is not None else None
    return _out(scene, call, keyword) if call is not None and keyword is not None else None


@explains(error_texts.NO_KIND)
def sort_kind(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.sort(x, kind="stable")`."""
    call = scene.call()
    keyword = next((k for k in call.keywords if k.arg == "kind"), None) if call is not None else None
    if call is None or keyword is None:
        return None
    stable = scene.spot.value(keyword.value) in ("stable", "mergesort")
    fix = scene.fix("Say that equal entries keep their order.", scene.source.replace(keyword, "stable=True"))
    return _explained(
        scene, call, keyword, fix if stable else scene.fix("Leave it out.", _without(scene, call, keyword))
    )


def _explained(scene: Scene, call: ast.Call, keyword: ast.keyword, fix: Fix | None) -> Explanation | None:
    return scene.explanation(
        "unknown_argument",
        title=f"`{scene.quote(call.func)}` has no argument `{keyword.arg}`",
        variable=keyword.arg,
        why=f"JAX's function does not take `{keyword.arg}`, whatever other libraries or older versions do.",
        fixes=[fix],
        link=_link(_name_of(scene, call.func)),
    )


def _out(scene: Scene, call: ast.Call, keyword: ast.keyword) -> Explanation | None:
    """Explain `out=y`: JAX's functions write into nothing."""
    target, statement = scene.quote(keyword.value), scene.spot.statement
    alone = isinstance(statement, ast.Expr) and statement.value is call
    edits = [_without(scene, call, keyword)]
    if alone and isinstance(keyword.value, ast.Name | ast.Attribute):
        edits.append(scene.source.insert_before(call, f"{target} = "))
        fix = scene.fix("Keep what it returns.", *edits)
    elif isinstance(statement, ast.Assign) and [scene.quote(t) for t in statement.targets] == [target]:
        fix = scene.fix("Leave it out: the result is returned.", *edits)
    else:
        fix = scene.advice("Leave it out, and use what the function returns.")
    value = scene.spot.value(keyword.value)
    return scene.explanation(
        "out_argument",
        title=f"`{scene.quote(call.func)}` cannot write into an array",
        what=scene.what(target, value) if is_array(value) else "",
        variable=target,
        why="JAX arrays never change: every function returns a new array, so there is no `out`.",
        fixes=[fix],
        link=_link(_name_of(scene, call.func)),
    )


def _new_name(function: str, old: str, free: set[str]) -> str | None:
    """Return what an argument is called, '' if it can be left out, None if unknown."""
    renamed = KEYWORD_REMOVALS.get((function, old))
    if renamed is not None:
        return renamed if not renamed or renamed in free else None
    for new in _HABITS.get(old, ()):
        if new in free:
            return new
    return "" if old in _LEFT_OUT else None


def _jax_function(scene: Scene, node: ast.expr) -> Any:
    """Return the function of JAX that a call calls, also a method of an array; None for others."""
    value = scene.spot.value(node)
    if value is MISSING and isinstance(node, ast.Attribute):
        base = scene.spot.value(node.value)
        if isinstance(base, jax.Array):
            return getattr(base, node.attr, None)
        # The array is computed in the same line: its class has the method, and the message came from JAX's.
        last = scene.error.__traceback__
        plain = base is MISSING and isinstance(node.value, ast.Call | ast.BinOp | ast.Subscript)
        return getattr(jax.Array, node.attr, None) if plain and last is not None and _is_method(scene, node) else None
    inner = inspect.unwrap(value) if callable(value) else None
    code = getattr(inner, "__code__", None)
    if code is not None:  # of a function with a derivative rule, for one: the user's own
        return value if in_jax(code) else None
    return value if type(value).__module__.startswith("jax.") and callable(value) else None


def _is_method(scene: Scene, node: ast.Attribute) -> bool:
    return scene.message.startswith(f"_{node.attr}()") and hasattr(jax.Array, node.attr)


def _name_of(scene: Scene, node: ast.expr) -> str:
    """Return the dotted public name of a called function, such as `jax.numpy.reshape`."""
    if isinstance(node, ast.Attribute):
        base = scene.spot.value(node.value)
        return f"{base.__name__}.{node.attr}" if isinstance(base, ModuleType) else f"jax.Array.{node.attr}"
    value = scene.spot.value(node)
    name = getattr(value, "__name__", "")
    for module in (jax, jax.numpy, jax.nn, jax.lax, jax.random):
        if getattr(module, name, None) is value:
            return f"{module.__name__}.{name}"
    return name


def _link(name: str) -> str:
    page = name.replace("jax.Array.", "jax.numpy.")
    return f"{error_texts.API}/{page}.html" if page.startswith("jax.") else f"{error_texts.API}/jax.Array.html"


def _as(scene: Scene, keyword: ast.keyword, name: str) -> Edit:
    return scene.source.replace(keyword, f"{name}={scene.quote(keyword.value)}")


def _without(scene: Scene, call: ast.Call, keyword: ast.keyword) -> Edit:
    """Return the edit that removes an argument, with the comma before or after it."""
    source = scene.source
    parts = sorted([*call.args, *call.keywords], key=source.start)
    place = parts.index(keyword)
    if place:
        return Edit(source.file, source.end(parts[place - 1]), source.end(keyword), "")
    last = source.start(parts[1]) if len(parts) > 1 else source.end(keyword)
    return Edit(source.file, source.start(keyword), last, "")
