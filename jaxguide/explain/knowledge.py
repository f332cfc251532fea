"""Find the rule that knows an error, and never do harm where there is none."""

import importlib
import pkgutil

from jaxguide.explain import rules
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import RULES
from jaxguide.explain.scene import Scene
from jaxguide.explain.without_source import explain_without_source

# Each module of the room registers its rules; of those that know an error, the first one explains it.
for _found in sorted(module.name for module in pkgutil.iter_modules(rules.__path__)):
    importlib.import_module(f"{rules.__name__}.{_found}")

# Set in tests: what a rule does wrong is seen there, and never by a student.
rules_may_raise = False


def explain_one(error: BaseException) -> Explanation | None:
    """Return the explanation of this error alone, None where no rule knows it."""
    if type(error).__module__.split(".")[0] == "jaxguide":  # it says what to do itself
        return None
    try:
        scene = Scene(error)
        if not scene.spots or scene.raised_by_user:
            return None
        if scene.spot.source is None or scene.spot.node is None:
            return explain_without_source(scene)
        of_jax = scene.is_of_jax()
    except Exception:  # objects of the student's may do anything when looked at
        if rules_may_raise:
            raise
        return None
    for phrase, rule in RULES:
        found = phrase.match(error)
        if found is None or (phrase.shared and not of_jax):
            continue
        try:
            explanation = rule(scene, found)
        except Exception:  # a rule that does not understand the code has nothing to say
            if rules_may_raise:
                raise
            continue
        if explanation is not None:
            return explanation
    return None
