"""Results of checks and exercises: outcomes, verdicts and marks, as plain records."""

import dataclasses
import enum
from typing import Any

from jaxguide.base.clean import clean


class Verdict(enum.StrEnum):
    """How an exercise or a check ended; a check is never `PARTLY_RIGHT` or `NOT_ATTEMPTED`."""

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
    """The groups of verdicts that class statistics count."""

    PASSED = "passed"
    PARTLY = "partly right"
    FAILED = "not right"
    STOPPED = "ended early"
    NOT_ATTEMPTED = "not attempted"
    NOT_GRADED = "not graded"


@dataclasses.dataclass(frozen=True)
class About:
    """Facts about a verdict, for every place that shows one.

    Args:
        outcome: the group that it counts toward. `STOPPED` means that the process running the code was killed or
            exited.
        of_exercise, of_check: a card's words for an exercise, and for a check, with this verdict.
        decides: whether the first check with this verdict decides the exercise's verdict, whatever others earned.
    """

    outcome: Outcome
    of_exercise: str
    of_check: str
    decides: bool = False


def about(verdict: Verdict) -> About:
    """Return the facts about a verdict.

    This is the only list of all verdicts besides `results.schema.json`. Points do not depend on it; see `score`.
    """
    stopped = Outcome.STOPPED
    return {
        Verdict.PASSED: About(Outcome.PASSED, "Right so far", "passed"),
        Verdict.PARTLY_RIGHT: About(Outcome.PARTLY, "Partly right", "partly right"),
        Verdict.FAILED: About(Outcome.FAILED, "Not right yet", "failed"),
        Verdict.ERROR: About(Outcome.FAILED, "Your code raised an error", "error"),
        Verdict.NOT_ATTEMPTED: About(Outcome.NOT_ATTEMPTED, "Not started yet", "not started"),
        Verdict.OUT_OF_TIME: About(stopped, "Out of time", "out of time", True),
        Verdict.OUT_OF_MEMORY: About(stopped, "Out of memory", "out of memory", True),
        Verdict.DIED: About(stopped, "Your code ended its own process", "process ended", True),
        Verdict.EXITED: About(stopped, "Your code ended the program", "ended the program", True),
        Verdict.TOO_MUCH_OUTPUT: About(stopped, "Too much output", "too much output", True),
        Verdict.BROKEN_REPLY: About(stopped, "Your code disturbed the line to the grader", "reply not readable", True),
        Verdict.NO_SUCH_FUNCTION: About(Outcome.FAILED, "There is no such function", "no such function", True),
        Verdict.REJECTED: About(Outcome.FAILED, "Rejected, not run", "rejected", True),
        Verdict.NOT_CHECKED: About(Outcome.NOT_GRADED, "Not checked", "not checked"),
    }[verdict]


class Kind(enum.StrEnum):
    """The kind of evidence that a check uses. Code that runs in the answer's process can forge all kinds but values."""

    VALUE = "value"
    RELATION = "relation"
    OBSERVED = "observed"


STAGES = ("attempted", "runs", "shape", "dtype", "value", "jit", "traces", "gradient", "keys", "cost")
"""The order in which checks run. A failure in one stage leaves the later stages unchecked, see `after_failure`."""


_FIXES_SHOWN = 3


@dataclasses.dataclass(frozen=True)
class ExplanationText:
    """The explanation of an error that `jaxguide.explain` gives, as text for a card; it never decides a mark.

    `fixes` has the sentence of each fix and the changed code, '' if there is none.
    """

    title: str
    what: str
    why: str
    fixes: tuple[tuple[str, str], ...]
    link: str = ""

    def bounded(self) -> "ExplanationText":
        """Return it with few fixes, texts that fit a card, and a link only if it leads to JAX's documentation."""
        fixes = tuple((clean(sentence, 400), clean(code, 1000)) for sentence, code in self.fixes[:_FIXES_SHOWN])
        link = clean(self.link, 300) if self.link.startswith("https://docs.jax.dev/") else ""
        return ExplanationText(clean(self.title, 200), clean(self.what, 600), clean(self.why, 600), fixes, link)


@dataclasses.dataclass(frozen=True)
class ErrorInfo:
    """A student's exception as data: class, message, and the line of the student's code that raised or caused it.

    `cell` is the notebook cell of that line, such as 'cell [7]', and '' in a file.
    """

    type_name: str
    message: str
    line: int | None = None
    source: str = ""
    cell: str = ""
    explanation: ExplanationText | None = None

    @property
    def place(self) -> str:
        """The line and its cell in words; '' if it is not known."""
        if self.line is None:
            return ""
        return f"{self.cell}, line {self.line}" if self.cell else f"line {self.line}"


class StudentError(Exception):
    """The student's function raised an exception; `info` says which and where."""

    def __init__(self, info: ErrorInfo):
        super().__init__(f"{info.type_name}: {info.message}")
        self.info = info


class AnswerGone(Exception):
    """The process running the answer was stopped or exited; `verdict` says how, and `note` tells the student."""

    def __init__(self, verdict: Verdict, note: str):
        super().__init__(note)
        self.verdict = verdict
        self.note = note


class NotJudged(Exception):
    """Judging itself is not possible; no student is at fault."""


@dataclasses.dataclass(kw_only=True)
class Evidence:
    """What a failed check shows.

    Args:
        call: the call that the check failed on, or several, one a line.
        got: what the call returned.
        compared, label: what the check derived from that and compared, and what it is; '' if it compared `got`.
        expected: what it should be.
        difference: how lines of text differ, as `line_diff` writes it; '' if there are no lines.
        extent: how many elements of an array differ, and by how much at most, as a sentence.
        names_cause: whether the failure is something that also makes values wrong: a problem in the use of keys, or
            the misconception that the check declares.
    """

    call: str = ""
    got: str = ""
    compared: str = ""
    label: str = ""
    expected: str = ""
    difference: str = ""
    extent: str = ""
    names_cause: bool = False


class CheckFailed(Exception):
    """A check failed: the message, what the function returned, what was expected, and the likely misconception.

    `on` is the kind of input in words.
    """

    def __init__(self, message: str, got: str = "", expected: str = "", misconception: str = "", on: str = ""):
        super().__init__(message)
        self.message, self.misconception, self.on = message, misconception, on
        self.evidence = Evidence(got=got, expected=expected)


@dataclasses.dataclass
class CheckResult(Evidence):
    """The result of one check of one answer, with the evidence if it failed.

    Args:
        on: the kind of input in the author's words, which students see also if the check is hidden.
        misconceptions: the names of the planted wrong answers that fail on the same input in the same way.
        says: a sentence for each of them, or what the check itself saw.
        trouble: the exception that the check itself raised, if any.
        after_failure: how the check came out if it ran only to find out why an earlier one failed. Its `verdict` is
            `NOT_CHECKED` then, since it decides nothing and earns nothing.
    """

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
    on: str = ""
    error: ErrorInfo | None = None
    misconceptions: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    trouble: str = ""
    after_failure: Verdict | None = None

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED

    @property
    def seen(self) -> Verdict:
        """How the check came out, even if it decided nothing."""
        return self.after_failure or self.verdict


@dataclasses.dataclass
class ExerciseResult:
    """The result of one exercise: verdict, marks and every check.

    Of a prediction whose guess is locked, `reveal` is what JAX gives, `why` says why, and the code in `shows` shows it.
    `printed` is what the code printed while visible checks ran, and `hidden_printed` while hidden checks did, which may
    reveal their inputs. `is_all` says whether grading runs no further check, and `is_locked` whether another guess than
    this one counts. `as_given` is the check that a starter to repair fails as long as it is unchanged.
    """

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
    why: str = ""
    shows: str = ""
    hidden_printed: str = ""
    is_all: bool = False
    is_locked: bool = False
    as_given: CheckResult | None = None

    @property
    def first_failure(self) -> CheckResult | None:
        return next((c for c in self.checks if c.verdict not in (Verdict.PASSED, Verdict.NOT_CHECKED)), None)

    @property
    def leading(self) -> CheckResult | None:
        """The failed check to show: a later one that names the cause, or else the first."""
        return next((c for c in self.checks if c.after_failure is Verdict.FAILED), self.first_failure)


def score(points: float, checks: list[CheckResult], all_or_nothing: bool = False) -> float:
    """Return the points that the results of an exercise's checks earn.

    This is the weighted share of passed checks, times `points`, with two decimals. It is 0 if a required check did not
    pass or, with `all_or_nothing`, if any check did not pass.
    """
    total = sum(check.weight for check in checks)
    if not total or any(check.required and not check.passed for check in checks):
        return 0.0
    passed = sum(check.weight for check in checks if check.passed)
    if all_or_nothing and passed < total:
        return 0.0
    return round(points * passed / total, 2)
