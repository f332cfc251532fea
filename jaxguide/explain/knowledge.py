"""Find the rule that explains an error, and hide errors in the rules themselves."""

import ast
import importlib

from jaxguide.code.lines import Line
from jaxguide.code.user_frame import UserFrame
from jaxguide.explain import rules
from jaxguide.explain.catalogue import RULES
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.offered import offered
from jaxguide.explain.scene import Scene
from jaxguide.explain.without_source import explain_without_source

for _family in rules.FAMILIES:
    importlib.import_module(f"{rules.__name__}.{_family}")

# Set in tests, so that errors in rules show there and never to a student.
rules_may_raise = False


def explain_one(error: BaseException) -> Explanation | None:
    """Return the explanation of this error alone, without its causes, or None if no rule knows it."""
    if type(error).__module__.split(".")[0] == "jaxguide":  # its message already says what to do
        return None
    try:
        scene = Scene(error)
        if not scene.spots or scene.raised_by_user:
            return None
        if scene.spot.source is None or scene.spot.node is None:
            return explain_without_source(scene)
        of_jax = scene.is_of_jax()
    except Exception:  # a student's objects may do anything when inspected
        if rules_may_raise:
            raise
        return None
    for phrase, rule in RULES:
        found = phrase.match(error)
        if found is None or (phrase.shared and not of_jax):
            continue
        try:
            explanation = rule(scene, found)
            if explanation is not None:
                return offered(scene, explanation)
        except Exception:  # the rule does not understand the code
            if rules_may_raise:
                raise
            continue
    return None


def error_behind(error: BaseException) -> BaseException | None:
    """Return the error that another one replaced: its cause, or the one being handled where it was raised."""
    if error.__cause__ is not None:
        return error.__cause__
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0] if len(error.exceptions) == 1 else None
    return error.__context__ if _is_raised_in_handler(error) else None


def _is_raised_in_handler(error: BaseException) -> bool:
    """Return whether an error comes from `raise` in an `except` block, and not from other code that runs there."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or error.__context__ is None:
        return False
    spot = UserFrame(
        traceback.tb_frame, Line(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno), traceback.tb_lasti
    )
    if spot.source is None or not isinstance(spot.statement, ast.Raise):
        return False
    handler: ast.AST | None = spot.statement
    while handler is not None and not isinstance(handler, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        if isinstance(handler, ast.ExceptHandler):
            return True
        handler = spot.source.parents.get(handler)
    return False
