"""Find the shape of an expression: of its value, or as it is written in a call such as `jnp.ones((2, 3))`."""

import ast
from collections.abc import Mapping
from types import MappingProxyType

import jax
import numpy as np

from jaxguide.code.user_frame import is_array
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
    if not isinstance(node, ast.BinOp):
        return () if isinstance(scene.spot.value(node), int | float | complex) else known_shape(scene, node)
    left, right = computed_shape(scene, node.left, instead), computed_shape(scene, node.right, instead)
    if left is None or right is None:
        return None
    try:
        if not isinstance(node.op, ast.MatMult):
            return tuple(np.broadcast_shapes(left, right))
        zeros = (jax.ShapeDtypeStruct(shape, np.float32) for shape in (left, right))
        return tuple(jax.eval_shape(jax.numpy.matmul, *zeros).shape)
    except (TypeError, ValueError):
        return None
