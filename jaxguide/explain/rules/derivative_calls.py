"""Explain what derivatives are called with and what their functions return: `has_aux`, pullbacks, `jax.jvp`."""

import ast
import re

from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import function_behind, returned, transformation

_GRAD = f"{error_texts.API}/jax.grad.html"
_VJP = f"{error_texts.API}/jax.vjp.html"


@explains(structure_texts.AUX_PAIR)
def aux_without_pair(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `has_aux=True` with a function that does not return a pair."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    place = function_behind(scene.spot, made.args[0]) if made is not None and made.args else None
    result = returned(place[1]) if place is not None else None
    if made is None or place is None or result is None:
        return None
    source, name = place[0], scene.quote(made.args[0])
    fix: Fix | None = None
    if isinstance(result, ast.Tuple) and len(result.elts) > 2:
        first, *rest = [source.quote(element) for element in result.elts]
        new = f"{first}, ({', '.join(rest)})"
        inside = f"({new})" if isinstance(source.parents.get(result), ast.Lambda) else new
        fix = scene.fix("Put all but the loss into one tuple.", source.replace(result, inside))
    elif isinstance(result, ast.Dict):
        fix = scene.advice("Return the loss first, then the dict: `return loss, {...}`.")
    else:
        fix = scene.advice("Leave `has_aux=True` out, or return the loss and what comes with it: `return loss, aux`.")
    return scene.explanation(
        "aux_without_pair",
        title="`has_aux=True` for a function that does not return a pair",
        what=f"`{name}` returns `{source.quote(result)}`.",
        variable=name,
        why="With `has_aux`, the function returns exactly two things: the number to differentiate, and the rest.",
        fixes=[fix],
        link=_GRAD,
        line=Line(source.file, source.start(result)[0]),
    )


@explains(structure_texts.PULLBACK_TREE)
def pullback_tree(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `pull(1.0)` where the function returned a tuple or another tree."""
    call = scene.call()
    if call is None or len(call.args) != 1:
        return None
    node, text = call.args[0], scene.quote(call.args[0])
    output = _output_of(scene, call)
    fix: Fix | None = None
    aux: Fix | None = None
    if found[2].startswith("pytree leaf") and isinstance(node, ast.Tuple | ast.List) and len(node.elts) == 1:
        fix = scene.fix("Give the number itself.", scene.source.replace(node, scene.quote(node.elts[0])))
    elif isinstance(node, ast.List) and found[2] == "<class 'tuple'>" and "list" in found[3] and node.elts:
        comma = "," if len(node.elts) == 1 else ""
        fix = scene.fix("Give a tuple: a list is not a tuple.", scene.source.replace(node, f"({text[1:-1]}{comma})"))
    elif output is not None:
        new = f"{scene.jax}.tree.map({scene.jnp}.ones_like, {output})"
        fix = scene.fix(
            (
                "Give one cotangent for each part of the output. Ones differentiate the sum of all its entries; zeros "
                "leave a part out."
            ),
            scene.source.replace(node, new),
        )
        if _is_pair(scene.spot.value(ast.Name(output, ast.Load()))):
            aux = scene.advice(f"If only the first part is to be differentiated: `{scene.jax}.vjp(..., has_aux=True)`.")
    return scene.explanation(
        "pullback_tree",
        title="A pullback needs one cotangent for each part of the output",
        what=f"`{text}` is given, where the function returned {_kind(found[2])}.",
        variable=text,
        why="The pullback takes one cotangent for each output, in the same containers as the output.",
        fixes=[
            fix or scene.advice("Give one cotangent for each part of the output, in the same containers."),
            aux,
        ],
        link=_VJP,
    )


def _is_pair(value: object) -> bool:
    return type(value) is tuple and len(value) == 2


def _kind(said: str) -> str:
    """Return JAX's words for a part of a tree in plainer ones.

    >>> _kind("<class 'tuple'>"), _kind("pytree leaf"), _kind("tuple of length 2")
    ('a tuple', 'one array', 'a tuple of length 2')
    """
    if said.startswith("pytree leaf"):
        return "one array"
    return "a {kind}".format(kind=re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", said))


def _output_of(scene: Scene, call: ast.Call) -> str | None:
    """Return the name to which `out, pull = jax.vjp(...)` assigned the output, if it is still known here."""
    for node in ast.walk(scene.source.tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        out, pull = target.elts
        if called(node.value) != "vjp" or not isinstance(out, ast.Name) or not isinstance(pull, ast.Name):
            continue
        if scene.quote(call.func) == pull.id and out.id != "_" and scene.spot.value(out) is not MISSING:
            return out.id
    return None


@explains(structure_texts.PULLBACK_COUNT)
def pullback_count(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `pull(1.0, 1.0)`, whose cotangents belong in one tuple."""
    call = scene.call()
    if call is None or len(call.args) < 2 or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    first, last = call.args[0], call.args[-1]
    text = ", ".join(scene.quote(argument) for argument in call.args)
    return scene.explanation(
        "pullback_count",
        title="A pullback called with several arguments",
        what=f"`{scene.quote(call)}` gives it {len(call.args)} arguments.",
        variable=scene.quote(call.func),
        why="The function returned one thing, maybe a tuple, so its pullback takes one: cotangents in that container.",
        fixes=[
            scene.fix(
                "Put them into one tuple.",
                Edit(scene.source.file, scene.source.start(first), scene.source.end(last), f"({text})"),
            )
        ],
        link=_VJP,
    )


@explains(structure_texts.JVP_SHAPES)
def tangent_shape(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a tangent of `jax.jvp` whose shape differs from that of its primal."""
    call = scene.call()
    if call is None or called(call) != "jvp" or len(call.args) < 3:
        return None
    primals, tangents = call.args[1], call.args[2]
    edit: Edit | None = None
    text = scene.quote(tangents)
    if isinstance(primals, ast.Tuple | ast.List) and isinstance(tangents, ast.Tuple | ast.List):
        pairs = list(zip(primals.elts, tangents.elts, strict=False))
        numbers = [
            (p, t) for p, t in pairs if isinstance(scene.spot.value(t), int | float) and not _is_number(scene, p)
        ]
        if len(numbers) == 1:
            primal, tangent = numbers[0]
            text = scene.quote(tangent)
            new = f"{scene.jnp}.full_like({scene.quote(primal)}, {text})"
            edit = scene.source.replace(tangent, new)
    return scene.explanation(
        "tangent_shape",
        title="A tangent of another shape than its primal",
        what=f"The primal has shape {found[1]}, and the tangent has shape {found[2]}.",
        variable=text,
        why="A tangent is a small change of its primal, so both have one shape and one dtype.",
        fixes=[
            scene.fix("Give a number for each entry of the primal.", edit)
            or scene.advice("Give tangents of the primals' shapes.")
        ],
        link=f"{error_texts.API}/jax.jvp.html",
    )


def _is_number(scene: Scene, node: ast.expr) -> bool:
    value = scene.spot.value(node)
    return isinstance(value, int | float) or (is_array(value) and value.ndim == 0)


@explains(structure_texts.JVP_TREES)
def tangent_parts(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain tangents of `jax.jvp` in other containers than the primals."""
    call = scene.call()
    if call is None or called(call) != "jvp" or len(call.args) < 3:
        return None
    text = scene.quote(call.args[2])
    return scene.explanation(
        "tangent_parts",
        title="Tangents whose parts are not those of the primals",
        what=f"`{text}` is given for `{scene.quote(call.args[1])}`.",
        variable=text,
        why="There is one tangent for each primal, in the same containers with the same keys.",
        fixes=[scene.advice("Give a tangent for every part; zeros for one that does not change.")],
        link=f"{error_texts.API}/jax.jvp.html",
    )
