"""Rewrite `assert` and `raise` on traced values as checks at run time, with `checkify`."""

import ast
from typing import Any

from jaxguide import compat
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.explain.explanation import Fix
from jaxguide.explain.rewrites.conditions import condition
from jaxguide.explain.scene import Scene


def run_time_check(scene: Scene, tracer: Any, statement: ast.Assert | ast.Raise, test: ast.expr) -> Fix | None:
    """Return the code that checks a test with `checkify` in place of a statement, and the call that raises its error.

    Args:
        scene: the error.
        tracer: the first traced value in the test.
        statement: what checks now.
        test: what must hold.
    """
    said = (statement.msg if isinstance(statement, ast.Assert) else statement.exc) or test
    texts = [one.value for one in ast.walk(said) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    message = repr((texts or [scene.quote(said)])[0].replace("{", "{{").replace("}", "}}"))  # there braces hold values
    match test:
        case ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), inside)):
            test = inside
    value = scene.spot.value(test)
    number = is_array(value) and value.dtype != bool  # `checkify.check` takes only booleans
    holds = f"{scene.atom(test)} != 0" if number else condition(scene, test)
    call = f"error, result = {scene.jax}.jit(checkify.checkify({_outermost(scene, tracer) or 'outermost'}))(...)"
    return scene.fix(
        f"Check at run time in place of `{type(statement).__name__.lower()}`; call the outermost function through "
        "`checkify`, and let `throw` raise.",
        code=f"checkify.check({holds}, {message})\n{call}\nerror.throw()",
    )


def _outermost(scene: Scene, tracer: Any) -> str | None:
    """Return the name of the jitted function that fails, if no other transformation is around it."""
    name = compat.traced_by(tracer).function
    outer = [spot.frame for spot in scene.spots if spot.frame.f_code.co_name != name]
    traced = any(is_tracer(value) for frame in outer for value in frame.f_locals.values())
    is_outermost = scene.under(tracer) == "jax.jit" and not traced
    return name if is_outermost and name and callable(scene.spot.frame.f_globals.get(name)) else None
