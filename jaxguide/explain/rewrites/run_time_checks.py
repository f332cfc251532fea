"""Rewrite `assert` and `raise` on traced values as checks at run time, with `checkify`."""

import ast
from typing import Any

from jaxguide import compat
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.explain.explanation import Fix
from jaxguide.explain.rewrites.conditions import condition
from jaxguide.explain.scene import Scene


def run_time_check(scene: Scene, tracer: Any, instead_of: str, test: ast.expr, message: str) -> Fix | None:
    """Return the code that checks a test with `checkify`, and of the call that raises its error.

    Args:
        scene: the error.
        tracer: the first traced value in the test.
        instead_of: what checks now.
        test: what must hold.
        message: the text of the error.
    """
    match test:
        case ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), inside)):
            test = inside
    value = scene.spot.value(test)
    number = is_array(value) and value.dtype != bool  # `checkify.check` takes only booleans
    holds = f"{scene.atom(test)} != 0" if number else condition(scene, test)
    name = _outermost(scene, tracer) or "outermost"
    call = f"error, result = {scene.jax}.jit(checkify.checkify({name}))(...)"
    text = repr(message.replace("{", "{{").replace("}", "}}"))  # braces stand for values there
    return scene.fix(
        f"Check at run time in place of {instead_of}; call the outermost function through `checkify`, and let `throw` "
        "raise.",
        code=f"checkify.check({holds}, {text})\n{call}\nerror.throw()",
    )


def _outermost(scene: Scene, tracer: Any) -> str | None:
    """Return the name of the jitted function that fails, if no other transformation is around it."""
    name = compat.traced_by(tracer).function
    outer = [spot.frame for spot in scene.spots if spot.frame.f_code.co_name != name]
    traced = any(is_tracer(value) for frame in outer for value in frame.f_locals.values())
    is_outermost = scene.under(tracer) == "jax.jit" and not traced
    return name if is_outermost and name and callable(scene.spot.frame.f_globals.get(name)) else None
