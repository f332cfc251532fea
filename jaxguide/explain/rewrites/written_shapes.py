"""Find the shape of an expression: of its value, or as it is written in a call such as `jnp.ones((2, 3))`."""

import ast

import jax
import numpy as np

from jaxguide.code.user_frame import is_array
from jaxguide.explain.scene import Scene, called

# The position of the shape.
_MAKERS = {"ones": 0, "zeros": 0, "empty": 0, "full": 0, "normal": 1, "uniform": 1}
# Functions that compute each entry by itself.
_ENTRY_BY_ENTRY = ("abs", "absolute", "cos", "exp", "log", "negative", "sign", "sin", "sqrt", "square", "tanh")


def computed_shape(scene: Scene, node: ast.AST) -> tuple[int, ...] | None:
    """Return the shape of an array or a number, or of a sum, product or the like; None if it is not known."""
    value = scene.spot.value(node)
    if is_array(value) or isinstance(value, int | float | complex):
        return tuple(np.shape(value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return computed_shape(scene, node.operand)
    if isinstance(node, ast.Call):
        entry_by_entry = called(node) in _ENTRY_BY_ENTRY and len(node.args) == 1
        return computed_shape(scene, node.args[0]) if entry_by_entry else _made_with(scene, node)
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else sides
    shapes = [shape for one in sides if (shape := computed_shape(scene, one)) is not None]
    function = jax.numpy.matmul if isinstance(getattr(node, "op", None), ast.MatMult) else jax.numpy.add
    if len(shapes) != len(sides) or len(sides) != 2:
        return None
    try:
        return tuple(jax.eval_shape(function, *(jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes)).shape)
    except (TypeError, ValueError):
        return None


def _made_with(scene: Scene, call: ast.Call) -> tuple[int, ...] | None:
    """Return the shape in a call such as `jnp.ones((3, 4))`, or None."""
    place, module = _MAKERS.get(called(call)), str(getattr(scene.spot.value(call.func), "__module__", ""))
    if place is None or place >= len(call.args) or not module.startswith(("jax", "numpy")):
        return None
    shape = scene.spot.value(call.args[place])
    shape = (shape,) if isinstance(shape, int) else shape
    return shape if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape) else None
