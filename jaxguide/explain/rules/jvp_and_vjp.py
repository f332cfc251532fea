"""Explain arguments that do not fit `jax.jvp` and `jax.vjp`, and incomplete custom derivative rules."""

import ast
import re

from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.jaxpr.value_words import describe

_RULES = "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html"


@explains(error_texts.JVP_CONTAINER)
def jvp_without_tuples(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.jvp(f, x, v)`."""
    call = scene.call()
    if call is None or len(call.args) != 3:
        return None
    edits = [
        scene.source.replace(a, f"({scene.quote(a)},)")
        for a in call.args[1:]
        if not isinstance(scene.spot.value(a), tuple | list)
    ]
    return scene.explanation(
        "jvp_without_tuples",
        title="`jax.jvp` was not given tuples",
        what=f"`{scene.quote(call.args[1])}` is not a tuple.",
        variable=scene.quote(call.args[1]),
        why=(
            "A function may have several arguments, so `jax.jvp` takes all primals in one tuple, all tangents in "
            "another."
        ),
        fixes=[scene.fix("Put each into a tuple of one.", *edits)],
        link=f"{error_texts.API}/jax.jvp.html",
    )


@explains(error_texts.JVP_DTYPE)
def jvp_dtype(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain tangents whose dtype differs from that of the primals."""
    call = scene.call()
    if call is None or len(call.args) != 3 or not isinstance(call.args[2], ast.Tuple | ast.List):
        return None
    edits = []
    for node in call.args[2].elts:
        text, value = scene.quote(node), scene.spot.value(node)
        if isinstance(node, ast.Constant) and isinstance(value, int):
            edits.append(scene.source.replace(node, f"{text}.0"))
        elif isinstance(value, int):
            edits.append(scene.source.replace(node, f"float({text})"))
        elif is_array(value):
            edits.append(scene.source.replace(node, f"{scene.atom(node)}.astype(float)"))
    if not edits:
        return None
    text = scene.quote(call.args[2].elts[0])
    return scene.explanation(
        "tangent_dtype",
        title="A tangent of another dtype than its primal",
        what=f"`{text}` is {describe(scene.spot.value(call.args[2].elts[0]))} here.",
        variable=text,
        why="A tangent is a small change of its primal, so both have one shape and one dtype.",
        fixes=[scene.fix("Give floats.", *edits)],
        link=f"{error_texts.API}/jax.jvp.html",
    )


@explains(error_texts.VJP_SHAPE)
def vjp_cotangent(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a cotangent whose shape or dtype differs from that of the output."""
    call = scene.call()
    if call is None or len(call.args) != 1:
        return None
    text = scene.quote(call.args[0])
    shape = f"({found[3]},)" if found[3] and "," not in found[3] else f"({found[3]})"
    new = f"{scene.jnp}.full({shape}, {text}, {scene.jnp}.{found[2]})"
    if not found[1].endswith("[]"):
        new = f"{scene.jnp}.ones({shape}, {scene.jnp}.{found[2]})"
    return scene.explanation(
        "cotangent_shape",
        title="A cotangent that does not fit the output",
        what=f"`{text}` is {found[1]}, and the output is {found[2]}[{found[3]}].",
        variable=text,
        why="The pullback takes one number for each number of the output: how much each counts.",
        fixes=[scene.fix("Give the output's shape and dtype.", scene.source.replace(call.args[0], new))],
        link=f"{error_texts.API}/jax.vjp.html",
    )
