"""Run the examples of an exercise's docstring, and tell those that do not give what they show."""

import doctest
import traceback
from typing import Any


def failing_examples(shown: list[doctest.Example], names: dict[str, Any]) -> list[tuple[doctest.Example, str]]:
    """Return the examples that do not give what they show, with what they gave; `...` stands for anything.

    Args:
        shown: the examples, which run one after the other.
        names: the namespace in which they run.
    """
    runner = _Runner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(doctest.DocTest(shown, names, "example", None, 0, None), out=lambda text: None, clear_globs=False)
    return runner.failing


class _Runner(doctest.DocTestRunner):
    def __init__(self, **options: Any):
        super().__init__(**options)
        self.failing: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.failing.append((example, got.strip()))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        self.failing.append((example, "".join(traceback.format_exception_only(exc_info[1])).strip()))
