"""Find the shape of an expression: of its value, or as it is written in a call such as `jnp.ones((2, 3))`."""

import ast
from collections.abc import Mapping
from types import MappingProxyType

import jax
import numpy as np

from jaxguide.code.user_frame import is_array
from jaxguide.explain.rewrites.masks import ENTRY_BY_ENTRY
from jaxguide.explain.scene import Scene, called


def known_shape(scene: Scene, node: ast.expr) -> tuple[int, ...] | None:
    """Return the shape of an array that an expression gives; None if that is not known."""
    value = scene.spot.value(node)
    return tuple(value.shape) if is_array(value) else made_with(scene, node)


def made_with(scene: Scene, node: ast.expr) -> tuple[int, ...] | None:
    """Return the shape in a call such as `jnp.ones((3, 4))`, or None."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    function = scene.spot.value(node.func)
    if getattr(function, "__module__", "").split(".")[0] not in ("jax", "numpy"):
        return None
    if called(node) in ("eye", "identity") and len(node.args) == 1:
        size = scene.spot.value(node.args[0])
        return (size, size) if isinstance(size, int) else None
    if called(node) in ("array", "asarray"):
        return () if isinstance(scene.spot.value(node.args[0]), int | float) else None
    if called(node) in ("normal", "uniform") and len(node.args) == 2 and "random" in scene.quote(node.func):
        shape = scene.spot.value(node.args[1])
    elif called(node) in ("ones", "zeros", "empty", "full"):
        shape = scene.spot.value(node.args[0])
    else:
        return None
    shape = (shape,) if isinstance(shape, int) else shape
    return shape if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape) else None


def computed_shape(
    scene: Scene, node: ast.expr, instead: Mapping[str, tuple[int, ...]] = MappingProxyType({})
) -> tuple[int, ...] | None:
    """Return the shape of a sum, product or the like of arrays, without computing it; None if it is not known.

    Args:
        scene: the error.
        node: the expression.
        instead: shapes to take in place of those of named arrays.
    """
    if isinstance(node, ast.Name) and node.id in instead:
        return instead[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return computed_shape(scene, node.operand, instead)
    if isinstance(node, ast.Call) and called(node) in ENTRY_BY_ENTRY and len(node.args) == 1:
        return computed_shape(scene, node.args[0], instead)
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return _together(*(computed_shape(scene, side, instead) for side in (node.left, *node.comparators)))
    if not isinstance(node, ast.BinOp):
        return () if isinstance(scene.spot.value(node), int | float | complex) else known_shape(scene, node)
    left, right = computed_shape(scene, node.left, instead), computed_shape(scene, node.right, instead)
    if not isinstance(node.op, ast.MatMult) or left is None or right is None:
        return _together(left, right)
    try:
        zeros = (jax.ShapeDtypeStruct(shape, np.float32) for shape in (left, right))
        return tuple(jax.eval_shape(jax.numpy.matmul, *zeros).shape)
    except (TypeError, ValueError):
        return None


def _together(left: tuple[int, ...] | None, right: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the shape to which two shapes are broadcast; None if they do not fit, or if one is not known."""
    try:
        return tuple(np.broadcast_shapes(left, right)) if left is not None and right is not None else None
    except ValueError:
        return None
