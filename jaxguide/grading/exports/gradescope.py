"""Write results in Gradescope's format: https://gradescope-autograders.readthedocs.io/en/latest/specs/.

An exercise with hidden checks becomes two tests. The first shows the visible checks at once. The second shows the marks
and what students may know about the hidden checks, once the instructor publishes them. Gradescope hides the total from
students as long as any test is not visible to them.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.cards import Card
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.reports.page import line

AFTER_PUBLISHED = "after_published"

_UNANSWERED = (Verdict.NOT_ATTEMPTED, Verdict.NO_SUCH_FUNCTION)
_WIDTH = 90


@dataclasses.dataclass
class GradingProgress:
    """The progress of grading one submission.

    Args:
        results: the finished exercises, in the order in which they were finished.
        not_graded: the names of the exercises that could not be graded, through no fault of the student.
        done: whether grading has finished.
        unreadable: which files cannot be read, and why, or ''. If there are no results, it is the reason nothing can
            be graded.
        trouble: why the grader stopped, in words for students, or ''.
        notes: notes on how the files were read.
        facts: data that only the instructor sees.
    """

    results: list[ExerciseResult] = dataclasses.field(default_factory=list)
    not_graded: set[str] = dataclasses.field(default_factory=set)
    done: bool = False
    unreadable: str = ""
    trouble: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    def add(self, results: Iterable[ExerciseResult]) -> set[str]:
        """Add results, and return which count: if several files answer an exercise, the last does."""
        done = {one.name: one for one in self.results}
        new = {one.name: one for one in results if one.name not in done or one.verdict not in _UNANSWERED}
        self.results = list({**done, **new}.values())
        return set(new)

    def take(self, result: SubmissionResult) -> None:
        """Add all that is known of a file that was graded."""
        self.not_graded -= self.add(result.results)
        self.not_graded |= set(result.not_graded)
        self.notes += result.repairs
        self.facts = {
            "course_digest": result.course_digest,
            "submission_digest": result.digest,
            "versions": result.versions,
            "not_graded": result.not_graded,
        }

    @property
    def is_complete(self) -> bool:
        """Whether every exercise has a mark, or no file could be read, so that the student has to submit again."""
        lost = bool(self.unreadable and self.results)
        return self.done and not self.not_graded and not self.trouble and not lost


def gradescope_results(progress: GradingProgress, visibility: str = AFTER_PUBLISHED) -> dict[str, Any]:
    """Return the document `results.json` that Gradescope reads.

    The total is included only if every exercise has a mark. Without it, and with a test that has no score, Gradescope
    treats the run as failed and notifies the instructor, instead of counting a missing mark as 0. The total is also
    left out if some of several files cannot be read, because they may contain answers. If no file can be read, the
    total is 0: without a total, Gradescope would not show students the message that they should submit again.

    Args:
        progress: the progress of grading.
        visibility: the visibility of marks and hidden checks, 'after_published' or 'hidden'.

    >>> gradescope_results(GradingProgress(done=True, unreadable="The file is empty."))["score"]
    0.0
    >>> "score" in gradescope_results(GradingProgress())
    False
    """
    tests: list[dict[str, Any]] = []
    for number, result in enumerate(progress.results, 1):
        if result.name in progress.not_graded:
            said = "Not graded yet. This is not your fault; your instructor knows."
            tests.append(_test(number, result.title, said))
        else:
            tests += _tests(number, result, visibility)
    if not progress.done:
        tests.append(_test(len(progress.results) + 1, "Grading has not finished", "More exercises follow."))
    plain: dict[str, Any] = {"output": _output(progress), "output_format": "text", "visibility": "visible"}
    if progress.is_complete:
        plain["score"] = round(sum(result.score for result in progress.results), 2) if progress.results else 0.0
    return {**plain, "stdout_visibility": "hidden", "tests": tests, "extra_data": progress.facts}


def _tests(number: int, result: ExerciseResult, visibility: str) -> Iterable[dict[str, Any]]:
    marks = {"score": result.score, "max_score": result.points}
    if not any(check.hidden for check in result.checks):
        return [_test(number, result.title, Card(result).text(_WIDTH), _status(result), **marks)]
    seen = visible_part(result)
    name = f"{result.title}: marks, with hidden checks"
    return [
        _test(number, result.title, _visible_text(seen), _status(seen)),
        {**_test(number, name, Card(result).text(_WIDTH), _status(result), **marks), "visibility": visibility},
    ]


def visible_part(result: ExerciseResult) -> ExerciseResult:
    """Return the result of an exercise for its visible checks only; it is passed if none of them failed."""
    checks = [check for check in result.checks if not check.hidden]
    part = dataclasses.replace(result, checks=checks, hidden_printed="", note="")
    if result.verdict is Verdict.NOT_ATTEMPTED:
        return part
    failure = part.first_failure
    part.verdict = Verdict.PASSED if failure is None else failure.verdict
    return part


def _visible_text(seen: ExerciseResult) -> str:
    if seen.verdict is not Verdict.PASSED:
        return Card(seen).text(_WIDTH)
    # Do not list the checks: one that was not reached would reveal that a hidden check failed before it.
    return "No visible check failed. You will get your marks later, with the hidden checks."


def _status(result: ExerciseResult) -> str:
    return "passed" if result.verdict is Verdict.PASSED else "failed"


def _test(number: int, name: str, output: str, status: str = "", **marks: float) -> dict[str, Any]:
    test = {"number": str(number), "name": line(name), "output": clean(output), "output_format": "text"}
    return {**test, **({"status": status} if status else {}), **marks, "visibility": "visible"}


def _output(progress: GradingProgress) -> str:
    lines = []
    if progress.trouble:
        lines.append(f"The grader stopped: {progress.trouble} This is not your fault.")
    elif not progress.done:
        lines.append("Grading has not finished.")
    elif progress.unreadable and not progress.results:
        lines.append(f"Nothing was graded. {line(progress.unreadable)}")
    elif progress.not_graded:
        count = len(progress.not_graded)
        lines.append(plural("{count} exercise could not be graded.", "{count} exercises could not be graded.", count))
    if progress.unreadable and progress.results:
        lines.append(f"There is no total, because not every file could be read. {line(progress.unreadable)}")
    if progress.notes:
        lines += ["While reading your file:", *(f"  - {line(note)}" for note in progress.notes)]
    return "\n".join(lines)
