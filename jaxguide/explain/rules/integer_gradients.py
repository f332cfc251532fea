"""Explain derivatives with respect to integers: a number, an array, or one entry of a tree of parameters."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import _
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of
from jaxguide.explain.transformed import argnums, transformation

_GRAD = f"{error_texts.API}/jax.grad.html"


@explains(error_texts.GRAD_INTEGER, error_texts.JACOBIAN_INTEGER)
def gradient_of_integers(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad(f)(3)` and `jax.grad(loss)({"w": 1.0, "n": 3})`."""
    outer = scene.call()
    if outer is None:
        return None
    made = transformation(scene, outer)
    positions = [position for position in argnums(made) if position < len(outer.args)]
    if not positions:
        return None
    wrong = (p for p in positions if _integer_leaf(scene.spot.value(outer.args[p])) is not None)
    position = next(wrong, positions[0])
    node = outer.args[position]
    text, value = scene.quote(node), scene.spot.value(node)
    if isinstance(node, ast.List | ast.Tuple | ast.Dict) or _is_tree(value):
        return _in_a_tree(scene, node, value)
    if isinstance(value, bool):
        return None
    if isinstance(node, ast.Constant):
        new = f"{text}.0"
    elif isinstance(value, int):
        new = f"float({text})"
    else:
        new = f"{scene.atom(node)}.astype(float)" if is_array(value) or _of_jax(scene, node) else _floats(scene, text)
    what = scene.what(text, value) if is_array(value) else _("`{name}` is an int here.").format(name=text)
    dtype = next(group for group in found.groups()[::-1] if group)
    if value is MISSING:
        what = _("`{name}` has dtype {dtype} here.").format(name=text, dtype=dtype)
    fixes: list[Fix | None] = [scene.fix(_("Give floats."), scene.source.replace(node, new))]
    if len(outer.args) > 1 and made is not None and argument_of(made, 1, "argnums") is None:
        other = next((i for i, a in enumerate(outer.args) if i != position), None)
        fixes.append(
            scene.fix(
                _("Differentiate with respect to another argument."),
                scene.source.insert_after(made.args[-1], f", argnums={other}") if made.args else None,
            )
        )
    return _explained(scene, text, what, *fixes)


def _explained(scene: Scene, variable: str, what: str, *fixes: Fix | None) -> Explanation | None:
    return scene.explanation(
        "gradient_of_integers",
        title=_("A derivative with respect to integers"),
        what=what,
        variable=variable,
        why=_("A derivative asks what a small change does, and an integer cannot change by a little."),
        fixes=fixes,
        link=_GRAD,
    )


def _in_a_tree(scene: Scene, node: ast.expr, value: Any) -> Explanation | None:
    """Explain an integer among the numbers of a list, a tuple, a dict or another pytree."""
    text, leaf = scene.quote(node), _integer_leaf(value)
    written = _written(scene, node) if isinstance(node, ast.Name) else node
    whole = _integers(written) if written is not None else []
    if isinstance(node, ast.Dict | ast.List | ast.Tuple) or leaf is None:
        what = _("`{name}` holds the integer {value}.").format(name=text, value=whole[0].value) if whole else ""
        return _explained(scene, text, what, _floats_fix(scene, node, whole, value))
    path, number = leaf
    name = f"{text}{path}"
    what = scene.what(name, number) if is_array(number) else _("`{name}` is an int here.").format(name=name)
    words = _("Or take `{name}` out, and pass it as an argument of its own, which is not differentiated.")
    fixes = [_floats_fix(scene, node, whole, value), scene.advice(words.format(name=name))]
    return _explained(scene, name, what, *fixes)


def _floats_fix(scene: Scene, node: ast.expr, whole: list[ast.Constant], value: Any) -> Fix | None:
    """Return the fix that makes floats of the integers where they are written, or else of all leaves at the call."""
    all_written = value is MISSING or sum(_is_integer(leaf) for leaf in jax.tree.leaves(value)) == len(whole)
    edits = [scene.source.replace(number, f"{scene.quote(number)}.0") for number in whole]
    if not edits or not all_written:
        edits = [scene.source.replace(node, _floats(scene, scene.quote(node)))]
    return scene.fix(_("Give floats."), *edits)


def _floats(scene: Scene, text: str) -> str:
    return f"{scene.jax}.tree.map(lambda leaf: {scene.jnp}.asarray(leaf, float), {text})"


def _written(scene: Scene, name: ast.Name) -> ast.expr | None:
    """Return the container that a name was given where it stands, written out, in the source; None where unsure."""
    found = [
        node.value
        for node in ast.walk(scene.source.tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name.id for target in node.targets)
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Dict | ast.List | ast.Tuple) else None


def _integers(node: ast.expr) -> list[ast.Constant]:
    """Return the integers written in a container, and in the containers in it."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [node]
    inside = node.values if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return [number for part in inside for number in _integers(part)]


def _integer_leaf(value: Any) -> tuple[str, Any] | None:
    """Return the first integer leaf of a pytree, with its path as the student writes it: `['w']`."""
    if value is MISSING or callable(value):
        return None
    leaves, _tree = jax.tree_util.tree_flatten_with_path(value)
    return next(((jax.tree_util.keystr(path), leaf) for path, leaf in leaves if _is_integer(leaf)), None)


def _is_integer(leaf: Any) -> bool:
    if is_array(leaf):
        return bool(jax.dtypes.issubdtype(leaf.dtype, np.integer) or leaf.dtype == bool)
    return isinstance(leaf, int)


def _is_tree(value: Any) -> bool:
    return value is not MISSING and not jax.tree_util.all_leaves([value])


def _of_jax(scene: Scene, node: ast.expr) -> bool:
    """Tell whether an expression is a call of JAX's own, which gives an array and no tree."""
    function = scene.spot.value(node.func) if isinstance(node, ast.Call) else MISSING
    module = getattr(function, "__module__", None)
    return not isinstance(node, ast.Call) or (isinstance(module, str) and module.split(".")[0] in ("jax", "jaxlib"))
