"""Find the rule that knows an error, and never do harm where there is none."""

from jaxguide.explain import (  # noqa: F401  (each registers its rules; the first rule that fits is taken)
    arrays,
    batching,
    branches,
    carries,
    conditions,
    derivatives,
    dict_keys,
    float_sizes,
    gradients,
    hosts,
    indexing,
    integer_gradients,
    jit_values,
    joining,
    leaks,
    loop_gradients,
    loop_results,
    loops,
    mapped_axes,
    memory,
    numbers,
    numpy_calls,
    numpy_sizes,
    randomness,
    ranges,
    shapes,
    sizes,
    statics,
    texts,
    truths,
    updates,
)
from jaxguide.explain.bare import explain_without_source
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import RULES
from jaxguide.explain.scene import Scene

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
