"""Register the errors that can be explained: phrases of messages, each with the function that explains it."""

import re
from collections.abc import Callable

from jaxguide.compat.error_texts import Phrase
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.scene import Scene

Rule = Callable[[Scene, re.Match[str]], Explanation | None]
RULES: list[tuple[Phrase, Rule]] = []


def explains(*phrases: Phrase) -> Callable[[Rule], Rule]:
    """Register a function that explains errors with these phrases; it may return None to try the next rule."""

    def register(rule: Rule) -> Rule:
        RULES.extend((phrase, rule) for phrase in phrases)
        return rule

    return register
