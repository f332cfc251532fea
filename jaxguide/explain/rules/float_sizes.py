"""Explain shapes that are not made of integers: `(3.0,)`, `(n / 2, 4)`."""

import ast
import re

import jax
import numpy as np

from jaxguide.base.text import _
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene


@explains(error_texts.SHAPE)
def shape_of_floats(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.zeros((3.0,))`, `jax.random.normal(key, (n / 2, 4))` and their like."""
    call, said = scene.call(), error_texts.SHAPE_ENTRIES.search(scene.message)
    if call is None or said is None or "Tracer" in said[1]:
        return None
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    shape = next((a for a in arguments if isinstance(a, ast.Tuple | ast.List) and _floats(scene, a.elts)), None)
    sizes = shape.elts if shape is not None else arguments
    wrong = _floats(scene, sizes)
    named = next((a for a in arguments if _is_tuple_of_floats(scene.spot.value(a))), None)
    edits: list[Edit] = [scene.source.replace(node, _whole(scene, node)) for node in wrong]
    if named is not None and shape is None:
        text = scene.quote(named)
        wrong, edits = [named], [scene.source.replace(named, f"tuple(int(n) for n in {text})")]
    if not wrong:
        return None
    text = scene.quote(wrong[0])
    return scene.explanation(
        "shape_of_floats",
        title=_("`{function}` needs a shape of integers").format(function=scene.quote(call.func)),
        what=_("The shape is ({shape}) here.").format(shape=said[1]),
        variable=text,
        why=_("A size is counted, so it is an integer; `/` gives a float, even of two integers."),
        fixes=[scene.fix(_("Give an integer."), *edits)],
        link=f"{error_texts.API}/jax.numpy.zeros.html",
    )


def _floats(scene: Scene, nodes: list[ast.expr]) -> list[ast.expr]:
    """Return the nodes that are floats: by their value, or as a quotient."""
    return [
        node
        for node in nodes
        if _is_float(scene.spot.value(node)) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
    ]


def _whole(scene: Scene, node: ast.expr) -> str:
    """Return the text of a size as an integer: `3` for `3.0`, `n // 2` for `n / 2`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value.is_integer():
        return str(int(node.value))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{scene.atom(node.left)} // {scene.atom(node.right)}"
    return f"int({scene.quote(node)})"


def _is_float(value: object) -> bool:
    if is_array(value) and not is_tracer(value):
        return value.ndim == 0 and bool(jax.dtypes.issubdtype(value.dtype, np.floating))  # type: ignore[attr-defined]
    return isinstance(value, float)


def _is_tuple_of_floats(value: object) -> bool:
    return value is not MISSING and isinstance(value, tuple | list) and any(_is_float(entry) for entry in value)
