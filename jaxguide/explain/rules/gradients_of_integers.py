"""Explain derivatives with respect to integers: numbers, leaves of trees, indices and random keys."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import argnums, function_behind, parameters, transformation

_GRAD = f"{error_texts.API}/jax.grad.html"


@explains(error_texts.GRAD_INTEGER, error_texts.JACOBIAN_INTEGER)
def gradient_of_integers(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad(f)(3)` and `jax.grad(loss)({"w": 1.0, "n": 3})`."""
    outer = scene.call()
    if outer is None:
        return None
    made = transformation(scene, outer)
    numbers = argnums(made) if made is not None else range(len(outer.args))  # all, if `argnums` is not known
    positions = [position for position in numbers if position < len(outer.args)]
    if not positions:
        return None
    position = _integer_position(scene, outer, positions, known=made is not None)
    if position is None:
        return None
    node = outer.args[position]
    if "key" in found.groups() or _is_raw_key(scene, node):
        return _of_a_key(scene, outer, made, position)
    if _is_index(scene, made, position):
        return _of_an_index(scene, outer, made, position)
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
    what = scene.what(text, value) if is_array(value) else f"`{text}` is an int here."
    dtype = next(group for group in found.groups()[::-1] if group)
    if value is MISSING:
        what = f"`{text}` has dtype {dtype} here."
    fixes: list[Fix | None] = [scene.fix("Give floats.", scene.source.replace(node, new))]
    if len(outer.args) > 1 and made is not None and argument_of(made, 1, "argnums") is None:
        other = next((i for i, a in enumerate(outer.args) if i != position), None)
        fixes.append(
            scene.fix(
                "Differentiate with respect to another argument.",
                scene.source.insert_after(made.args[-1], f", argnums={other}") if made.args else None,
            )
        )
    return _explained(scene, text, what, *fixes)


def _integer_position(scene: Scene, outer: ast.Call, positions: list[int], *, known: bool) -> int | None:
    """Return the number of the argument that holds integers; None if that is not certain.

    `known` says whether these are the positions that JAX differentiates, or those of all arguments.
    """
    values = {position: scene.spot.value(outer.args[position]) for position in positions}
    whole = [position for position, value in values.items() if _integer_leaf(value) is not None]
    unknown = [position for position, value in values.items() if value is MISSING]
    if not known:
        return whole[0] if len(whole) == 1 and not unknown else None
    candidates = whole or unknown
    return candidates[0] if whole or len(candidates) == 1 else None


def _is_raw_key(scene: Scene, node: ast.expr) -> bool:
    """Return whether an argument has the form of a key of the old style, which is an array of integers."""
    value = scene.spot.value(node)
    if isinstance(node, ast.Call) and scene.spot.value(node.func) is jax.random.PRNGKey:
        return True
    return is_array(value) and value.dtype == np.uint32 and value.shape == (2,)


# Functions whose integer arguments are sizes, positions or classes.
_COUNTED = frozenset(
    (
        *("range", "one_hot", "arange", "take", "zeros", "ones", "take_along_axis", "dynamic_slice", "fold_in", "eye"),
        *("dynamic_slice_in_dim", "roll", "segment_sum", "fori_loop", "softmax_cross_entropy_with_integer_labels"),
    )
)


def _is_index(scene: Scene, made: ast.Call | None, position: int) -> bool:
    """Return whether the function uses an argument as an index, which must stay an integer."""
    place = function_behind(scene.spot, made.args[0]) if made is not None and made.args else None
    own = parameters(place[1]) if place is not None else []
    if place is None or position >= len(own):
        return False
    name = own[position].arg
    return any(isinstance(node, ast.Subscript) and name in names_in(node.slice) for node in ast.walk(place[1])) or any(
        isinstance(node, ast.Call)
        and called(node) in _COUNTED
        and name in {n for a in [*node.args, *(k.value for k in node.keywords)] for n in names_in(a)}
        for node in ast.walk(place[1])
    )


def _of_an_index(scene: Scene, outer: ast.Call, made: ast.Call | None, position: int) -> Explanation | None:
    """Explain a derivative with respect to an argument that is an index or a size."""
    text = scene.quote(outer.args[position])
    value = scene.spot.value(outer.args[position])
    what = scene.what(text, value) if is_array(value) else f"`{text}` holds integers."
    others = [str(i) for i in range(len(outer.args)) if i != position]
    words = "Arguments are counted from 0, and `{name}` is number {number}: give `argnums` the number of another one."
    if not others or made is None:
        return None
    return _explained(scene, text, what, scene.advice(words.format(name=text, number=position)))


def _of_a_key(scene: Scene, outer: ast.Call, made: ast.Call | None, position: int) -> Explanation | None:
    """Explain a derivative with respect to a random key."""
    text = scene.quote(outer.args[position])
    other = next((i for i in range(len(outer.args)) if i != position), None)
    if other is None:
        return None
    plain = made is not None and bool(made.args) and argument_of(made, 1, "argnums") is None
    return scene.explanation(
        "gradient_of_a_key",
        title="A derivative with respect to a key",
        what=f"`{text}` is a key here.",
        variable=text,
        why="A derivative asks what a small change does, and a key cannot change by a little.",
        fixes=[
            scene.fix(
                "Differentiate with respect to another argument.",
                scene.source.insert_after(made.args[-1], f", argnums={other}") if made is not None and plain else None,
                code="" if plain else "argnums=...",
            )
        ],
        link=_GRAD,
    )


def _explained(scene: Scene, variable: str, what: str, *fixes: Fix | None) -> Explanation | None:
    return scene.explanation(
        "gradient_of_integers",
        title="A derivative with respect to integers",
        what=what,
        variable=variable,
        why="A derivative asks what a small change does, and an integer cannot change by a little.",
        fixes=fixes,
        link=_GRAD,
    )


def _in_a_tree(scene: Scene, node: ast.expr, value: Any) -> Explanation | None:
    """Explain an integer among the leaves of a list, a tuple, a dict or another pytree."""
    text, leaf = scene.quote(node), _integer_leaf(value)
    written = _written(scene, node) if isinstance(node, ast.Name) else node
    whole = _integers(written) if written is not None else []
    if isinstance(node, ast.Dict | ast.List | ast.Tuple) or leaf is None:
        what = f"`{text}` holds the integer {whole[0].value!r}." if whole else ""
        return _explained(scene, text, what, _floats_fix(scene, node, whole, value))
    path, number = leaf
    name = f"{text}{path}"
    what = scene.what(name, number) if is_array(number) else f"`{name}` is an int here."
    words = "Or take `{name}` out, and pass it as an argument of its own, which is not differentiated."
    fixes = [_floats_fix(scene, node, whole, value), scene.advice(words.format(name=name))]
    return _explained(scene, name, what, *fixes)


def _floats_fix(scene: Scene, node: ast.expr, whole: list[ast.Constant], value: Any) -> Fix | None:
    """Return the fix that writes the integers as floats, or else converts all leaves at the call."""
    all_written = value is MISSING or sum(_is_integer(leaf) for leaf in jax.tree.leaves(value)) == len(whole)
    edits = [scene.source.replace(number, f"{scene.quote(number)}.0") for number in whole]
    if not edits or not all_written:
        edits = [scene.source.replace(node, _floats(scene, scene.quote(node)))]
    return scene.fix("Give floats.", *edits)


def _floats(scene: Scene, text: str) -> str:
    return f"{scene.jax}.tree.map(lambda leaf: {scene.jnp}.asarray(leaf, float), {text})"


def _written(scene: Scene, name: ast.Name) -> ast.expr | None:
    """Return the container literal that is assigned to a name, or None unless there is exactly one assignment."""
    found = [
        node.value
        for node in ast.walk(scene.source.tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name.id for target in node.targets)
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Dict | ast.List | ast.Tuple) else None


def _integers(node: ast.expr) -> list[ast.Constant]:
    """Return the integer literals in a container, including nested ones."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [node]
    inside = node.values if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return [number for part in inside for number in _integers(part)]


def _integer_leaf(value: Any) -> tuple[str, Any] | None:
    """Return the first integer leaf of a pytree, with its path such as `['w']`."""
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
    """Return False for a call of a function outside JAX, which may return a pytree, and True for anything else."""
    function = scene.spot.value(node.func) if isinstance(node, ast.Call) else MISSING
    module = getattr(function, "__module__", None)
    return not isinstance(node, ast.Call) or (isinstance(module, str) and module.split(".")[0] in ("jax", "jaxlib"))
