"""Find the rule that explains an error, and hide errors in the rules themselves."""

import importlib
import pkgutil

from jaxguide.explain import rules
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import RULES
from jaxguide.explain.scene import Scene
from jaxguide.explain.without_source import explain_without_source

# Each module in `rules` registers its rules; the first rule that returns an explanation wins.
for _found in sorted(module.name for module in pkgutil.iter_modules(rules.__path__)):
    importlib.import_module(f"{rules.__name__}.{_found}")

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
        except Exception:  # the rule does not understand the code
            if rules_may_raise:
                raise
            continue
        if explanation is not None:
            return explanation
    return None
