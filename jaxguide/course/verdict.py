"""What a check and an exercise came to: outcomes, verdicts and marks, as plain records."""

import dataclasses
import enum
from typing import Any

from jaxguide.base.text import _


class Verdict(enum.StrEnum):
    """How an exercise ended, or a check, which is never `PARTLY_RIGHT` or `NOT_ATTEMPTED`."""

    PASSED = "passed"
    PARTLY_RIGHT = "partly right"
    FAILED = "failed"
    ERROR = "error"
    NOT_ATTEMPTED = "not attempted"
    OUT_OF_TIME = "out of time"
    OUT_OF_MEMORY = "out of memory"
    DIED = "died"
    EXITED = "exited"
    TOO_MUCH_OUTPUT = "too much output"
    BROKEN_REPLY = "broken reply"
    NO_SUCH_FUNCTION = "no such function"
    REJECTED = "rejected"
    NOT_CHECKED = "not checked"


class Outcome(enum.StrEnum):
    """What verdicts come to, as a class is counted."""

    PASSED = "passed"
    PARTLY = "partly right"
    FAILED = "not right"
    STOPPED = "ended early"
    NOT_ATTEMPTED = "not attempted"
    NOT_GRADED = "not graded"


@dataclasses.dataclass(frozen=True)
class About:
    """What is known of a verdict wherever one is told.

    Args:
        outcome: what it counts as. `STOPPED` means that the process which ran the code was ended, or ended itself.
        of_exercise, of_check: what a card says of an exercise, and of a check, that ended so.
        decides: whether the first check that ends so decides the exercise's verdict, whatever other checks earned.
    """

    outcome: Outcome
    of_exercise: str
    of_check: str
    decides: bool = False


def about(verdict: Verdict) -> About:
    """Return what is known of a verdict, in the reader's language: the one place that lists them all.

    Points do not depend on it: see `score`. `results.schema.json` lists the values, too.
    """
    stopped = Outcome.STOPPED
    return {
        Verdict.PASSED: About(Outcome.PASSED, _("Visible checks passed"), _("passed")),
        Verdict.PARTLY_RIGHT: About(Outcome.PARTLY, _("Partly right"), _("partly right")),
        Verdict.FAILED: About(Outcome.FAILED, _("Not right yet"), _("failed")),
        Verdict.ERROR: About(Outcome.FAILED, _("Your code raised an error"), _("error")),
        Verdict.NOT_ATTEMPTED: About(Outcome.NOT_ATTEMPTED, _("Not started yet"), _("not started")),
        Verdict.OUT_OF_TIME: About(stopped, _("Out of time"), _("out of time"), True),
        Verdict.OUT_OF_MEMORY: About(stopped, _("Out of memory"), _("out of memory"), True),
        Verdict.DIED: About(stopped, _("Your code ended its own process"), _("process ended"), True),
        Verdict.EXITED: About(stopped, _("Your code ended the program"), _("ended the program"), True),
        Verdict.TOO_MUCH_OUTPUT: About(stopped, _("Too much output"), _("too much output"), True),
        Verdict.BROKEN_REPLY: About(
            stopped, _("Your code disturbed the line to the grader"), _("reply not readable"), True
        ),
        Verdict.NO_SUCH_FUNCTION: About(Outcome.FAILED, _("There is no such function"), _("no such function"), True),
        Verdict.REJECTED: About(Outcome.FAILED, _("Rejected, not run"), _("rejected"), True),
        Verdict.NOT_CHECKED: About(Outcome.NOT_GRADED, _("Not checked"), _("not checked")),
    }[verdict]


class Kind(enum.StrEnum):
    """What a check decides on. Only a value cannot be forged by code that runs in the same process as the answer."""

    VALUE = "value"
    RELATION = "relation"
    OBSERVED = "observed"


STAGES = ("attempted", "runs", "shape", "dtype", "value", "jit", "traces", "gradient", "keys", "cost")
"""The order in which checks run. A failure in one stage leaves the later stages unchecked."""


@dataclasses.dataclass(frozen=True)
class ErrorInfo:
    """A student's exception as data: class, message, and the student's own line where it arose."""

    type_name: str
    message: str
    line: int | None = None
    source: str = ""

    def to_plain(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "ErrorInfo":
        return cls(**plain)


class StudentError(Exception):
    """The student's function raised; `info` says what and where."""

    def __init__(self, info: ErrorInfo):
        super().__init__(f"{info.type_name}: {info.message}")
        self.info = info


class AnswerGone(Exception):
    """The process that held the answer was stopped or ended; `verdict` says how, `note` says it to the student."""

    def __init__(self, verdict: Verdict, note: str):
        super().__init__(note)
        self.verdict = verdict
        self.note = note


class NotJudged(Exception):
    """Judging itself is not possible, and no student is to blame."""


class CheckFailed(Exception):
    """A check found something wrong: what was seen, what was expected and why."""

    def __init__(self, message: str, got: str = "", expected: str = "", misconception: str = ""):
        super().__init__(message)
        self.message = message
        self.got = got
        self.expected = expected
        self.misconception = misconception


@dataclasses.dataclass
class CheckResult:
    """One check's outcome on one answer; `trouble` is the check's own exception, where it could not cope."""

    name: str
    fact: str
    stage: str
    kind: Kind
    weight: float
    hidden: bool
    verdict: Verdict
    required: bool = False
    message: str = ""
    idea: str = ""
    call: str = ""
    got: str = ""
    expected: str = ""
    error: ErrorInfo | None = None
    misconception: str = ""
    misconceptions: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED


@dataclasses.dataclass
class ExerciseResult:
    """One exercise's outcome: its verdict, its marks and every check."""

    name: str
    title: str
    lesson: str
    points: float
    verdict: Verdict
    score: float
    checks: list[CheckResult] = dataclasses.field(default_factory=list)
    note: str = ""
    printed: str = ""
    hint: str = ""
    reveal: Any = None  # plain data, see `judging.values`

    @property
    def first_failure(self) -> CheckResult | None:
        return next((c for c in self.checks if c.verdict not in (Verdict.PASSED, Verdict.NOT_CHECKED)), None)


def score(points: float, checks: list[CheckResult], all_or_nothing: bool = False) -> float:
    """Return the points that these outcomes earn.

    Points times the weights of the checks passed over all weights; nothing where a required check did not pass, and
    with `all_or_nothing` nothing unless every check passed.
    """
    total = sum(check.weight for check in checks)
    if not total or any(check.required and not check.passed for check in checks):
        return 0.0
    passed = sum(check.weight for check in checks if check.passed)
    if all_or_nothing and passed < total:
        return 0.0
    return round(points * passed / total, 4)
