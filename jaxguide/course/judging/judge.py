"""Judge an answer to an exercise: run the checks in order and decide the verdict and marks."""

import dataclasses
import functools

from jaxguide import compat
from jaxguide.code.sameness import is_to_repair
from jaxguide.course import verdict
from jaxguide.course.exercise import Check, Exercise
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.draw import DEFAULT_SEED, Draw
from jaxguide.course.judging.likeness import Failure, PlantedFailure, is_alike
from jaxguide.course.judging.literals import show
from jaxguide.course.judging.run_check import error_sentence, error_verdict, run_check
from jaxguide.course.judging.values import ArrayData, Unsupported, describe_type, to_data
from jaxguide.course.verdict import (
    STAGES,
    AnswerGone,
    CheckResult,
    ExerciseResult,
    Kind,
    StudentError,
    Verdict,
    about,
)


def failure_as_given(exercise: Exercise, starter: Answer) -> CheckResult | None:
    """Return the visible check that an exercise's starter fails; None if that is no code to repair, or passes."""
    if exercise.reveal is not None or not is_to_repair(exercise.starter_source):
        return None
    return Judging(exercise, find_cause=True).judge(starter).leading


@dataclasses.dataclass
class Judging:
    """The judging of one student's answer: `ask` runs the visible checks, then the hidden ones; then call `end`.

    The result is the same as if all checks ran by stage. However, code that has seen a hidden input can reveal it in
    any later output, and students may read the output of visible checks. So graders run the visible checks of all
    exercises before the first hidden check.

    Args:
        exercise: the exercise; its hidden checks run only with a `reference`.
        seed: the seed that all inputs are derived from.
        reference: the key's answer.
        all_or_nothing: whether to give no partial marks.
        course_digest: together with the seed, determines the hidden inputs.
        find_cause: whether to go on, after wrong values, with later visible checks that can say why they are wrong.
            This changes neither verdict nor marks.
        planted: runs planted wrong answers, to find out whether the answer fails as one of them does. Without it, only
            misconceptions that a check itself saw are named.
    """

    exercise: Exercise
    _: dataclasses.KW_ONLY
    seed: int = DEFAULT_SEED
    reference: Answer | None = None
    all_or_nothing: bool = False
    course_digest: str = ""
    find_cause: bool = False
    planted: PlantedFailure | None = None

    def __post_init__(self) -> None:
        exercise, reference = self.exercise, self.reference
        self._checks = ordered(exercise, hidden=reference is not None)
        required = required_names(self._checks)
        self._outcome = ExerciseResult(
            name=exercise.name,
            title=exercise.title,
            lesson=exercise.lesson,
            points=exercise.points,
            verdict=Verdict.NOT_ATTEMPTED,
            score=0.0,
            checks=[not_checked(check, check.name in required) for check in self._checks],
            is_all=reference is not None,
        )
        self._is_attempted = False
        # The earliest stages with a failure and with a check that ended the answer's process.
        self._failed_at = self._gone_at = len(STAGES)

    def judge(self, answer: Answer | None, until_decided: bool = False) -> ExerciseResult:
        """Run all checks; return the verdict, the marks, and the result of every check, by stage.

        Args:
            answer: the student's function, or None if the exercise was not attempted.
            until_decided: whether to run visible and hidden checks together by stage, and to stop after the first
                required check that fails: the verdict and the marks, which are then 0, are those that all checks would
                give. For planted answers, since those of students could reveal hidden inputs to later visible checks.
        """
        if until_decided:
            self.ask(answer, hidden=None)
        else:
            self.ask(answer, hidden=False)
            self.ask(answer, hidden=True)
        return self.end()

    def ask(self, answer: Answer | None, hidden: bool | None) -> None:
        """Run the hidden checks, the visible ones, or all by stage until a required one fails.

        Args:
            answer: the student's function, or None if the exercise was not attempted.
            hidden: whether to run the hidden checks; None for all.
        """
        if answer is None:
            return
        if self.exercise.reveal is not None:
            if not hidden:
                with compat.float64(self.exercise.x64):
                    _judge_prediction(self.exercise, answer, self._outcome)
            return
        self._is_attempted = True
        before = len(answer.log.printed)
        for number in self._waiting(hidden):
            stage = STAGES.index(self._checks[number].stage)
            if stage > self._failed_at:
                break
            gone = self._run(number, answer)
            result = self._outcome.checks[number]
            if not result.passed:
                self._failed_at = min(self._failed_at, stage)
            if gone:
                self._gone_at = min(self._gone_at, stage)
                break
            if hidden is None and result.required and not result.passed:
                break
        if hidden:
            self._outcome.hidden_printed += answer.log.printed[before:]
        else:
            self._outcome.printed += answer.log.printed[before:]
            self._look_for_cause(answer)

    def _look_for_cause(self, answer: Answer) -> None:
        """Run the visible checks that can say why values are wrong, if they are and if these have not run."""
        if self._gone_at < len(STAGES) or not self.find_cause or not _is_wrong_value(self._outcome.first_failure):
            return
        for number, check in enumerate(self._checks):
            if _can_name_cause(check) and STAGES.index(check.stage) > self._failed_at and self._run(number, answer):
                break

    @property
    def has_hidden(self) -> bool:
        """Whether there are hidden checks to run after the visible ones."""
        return self._is_attempted and bool(self._waiting(hidden=True))

    def end(self) -> ExerciseResult:
        """Return the verdict, the marks, and the result of every check."""
        if not self._is_attempted:
            return self._outcome
        results = self._outcome.checks
        for number, check in enumerate(self._checks):
            if STAGES.index(check.stage) > self._failed_at:
                # If all checks had run by stage, this one would not have run.
                results[number] = self._after_failure(number)
        self._outcome.score = verdict.score(self.exercise.points, results, self.all_or_nothing)
        self._outcome.verdict = _verdict(self._outcome)
        return self._outcome

    def _waiting(self, hidden: bool | None) -> list[int]:
        """Return the numbers of the hidden, visible or all checks that may still run after the failures so far."""
        stages = [STAGES.index(check.stage) for check in self._checks]
        return [
            number
            for number, check in enumerate(self._checks)
            if hidden in (None, check.hidden) and stages[number] <= self._failed_at and stages[number] < self._gone_at
        ]

    def _after_failure(self, number: int) -> CheckResult:
        """Return the result of a check that decides nothing, because an earlier stage failed."""
        check, result = self._checks[number], self._outcome.checks[number]
        # Any other failure may be an effect of the wrong value.
        is_told = result.seen is Verdict.PASSED or (result.seen is Verdict.FAILED and result.names_cause)
        is_asked = self.find_cause and _is_wrong_value(self._outcome.first_failure) and _can_name_cause(check)
        if not is_told or not is_asked:
            return not_checked(check, result.required)
        return dataclasses.replace(result, verdict=Verdict.NOT_CHECKED, after_failure=result.seen)

    def _run(self, number: int, answer: Answer) -> bool:
        check, result = self._checks[number], self._outcome.checks[number]
        answer.log.explains = not check.hidden and not any(one.error for one in self._outcome.checks)
        with compat.float64(self.exercise.x64):
            gone = run_check(check, result, answer, self.reference, self._draw(check))
            self._name_misconceptions(check, result, Failure.of(result, answer.log))
            result.names_cause |= check.misconception in result.misconceptions
        return gone

    def _draw(self, check: Check) -> Draw:
        """Return the inputs of a check, from the first on."""
        if check.hidden:
            return Draw.hidden(self.seed, self.course_digest, self.exercise.name, check.name)
        return Draw(self.seed, self.exercise.name, check.name)

    def _name_misconceptions(self, check: Check, result: CheckResult, failure: Failure | None) -> None:
        """Record the planted wrong answers that fail as this answer does, and what the check itself saw."""
        (said,) = result.says or ("",)
        wrong = [] if self.exercise.key is None else self.exercise.key.wrong
        if failure is None or self.exercise.key is None or self.planted is None:
            result.misconceptions = (said,) if said and " " not in said else ()
            named = [planted for planted in wrong if planted.name == said]
        else:
            likely = [p for p in wrong if p.rejected_by == check.name or p.name in (said, check.misconception)]
            judged = functools.partial(self._failure_of, check)
            named = [p for p in likely if is_alike(failure, self.planted(self.exercise, p, check, judged))]
            result.misconceptions = tuple(planted.name for planted in named)
        result.says = tuple(planted.sentence for planted in named) or ((said,) if " " in said else ())

    def _failure_of(self, check: Check, answer: Answer) -> Failure | None:
        """Return how another answer fails a check on the same inputs."""
        result = not_checked(check, required=False)
        run_check(check, result, answer, self.reference, self._draw(check))
        return Failure.of(result, answer.log)


def ordered(exercise: Exercise, hidden: bool) -> list[Check]:
    """Return an exercise's checks in the order in which they run: by stage, visible ones first."""
    checks = exercise.all_checks() if hidden else exercise.checks
    return sorted(checks, key=lambda check: (STAGES.index(check.stage), check.hidden))


def deciding(exercise: Exercise) -> list[Check]:
    """Return the required checks of values and relations, which only code that computes the values can pass."""
    checks = ordered(exercise, hidden=True)
    required = required_names(checks)
    return [c for c in checks if c.name in required and c.stage == "value" and c.kind is not Kind.OBSERVED]


def required_names(checks: list[Check]) -> set[str]:
    """Return the names of the required checks, without which no points are earned.

    If no check tests a value, the checks of relations in the value stage are required instead.
    """
    required = {check.name for check in checks if check.required}
    if not any(check.kind is Kind.VALUE and check.stage == "value" for check in checks):
        required |= {c.name for c in checks if c.kind is Kind.RELATION and c.stage == "value"}
    return required


def _is_wrong_value(failure: CheckResult | None) -> bool:
    """Return whether a check failed because of the values that the answer returned, not of their form or an error."""
    if failure is None or failure.verdict is not Verdict.FAILED or failure.kind is Kind.OBSERVED or failure.trouble:
        return False
    return STAGES.index(failure.stage) >= STAGES.index("value")


def _can_name_cause(check: Check) -> bool:
    """Return whether a check observes what can make values wrong: the use of keys, or a misconception it declares."""
    return not check.hidden and check.kind is Kind.OBSERVED and (check.stage == "keys" or check.misconception != "")


def not_checked(check: Check, required: bool) -> CheckResult:
    """Return the result for a check that has not run."""
    return CheckResult(
        name=check.name,
        fact=check.fact,
        stage=check.stage,
        kind=check.kind,
        weight=check.weight,
        hidden=check.hidden,
        verdict=Verdict.NOT_CHECKED,
        required=required,
    )


def _verdict(outcome: ExerciseResult) -> Verdict:
    failure = outcome.first_failure
    if failure is None:
        return Verdict.PASSED
    if about(failure.verdict).decides:
        return failure.verdict
    if outcome.score > 0:
        return Verdict.PARTLY_RIGHT
    return Verdict.ERROR if failure.verdict is Verdict.ERROR else Verdict.FAILED


def _judge_prediction(exercise: Exercise, answer: Answer, outcome: ExerciseResult) -> None:
    """Give the points for a prediction with a valid guess, and reveal what JAX returns."""
    assert exercise.reveal is not None
    try:
        guess = answer()
    except StudentError as failure:
        outcome.verdict, outcome.note = error_verdict(failure), error_sentence(failure)
        return
    except AnswerGone as gone:
        outcome.verdict, outcome.note = gone.verdict, gone.note
        return
    if guess is None or guess is Ellipsis or isinstance(guess, Unsupported):
        return
    live = to_data(exercise.reveal())
    if isinstance(guess, ArrayData) and guess.shape == ():
        guess = guess.values.item()
    if type(guess) is not type(live):
        message = "Your guess is {got}; it should be {expected}. Guess again."
        outcome.note = message.format(got=describe_type(guess), expected=describe_type(live))
        return
    outcome.reveal, outcome.note = live, show(guess)
    outcome.why, outcome.shows = exercise.why, exercise.shows
    outcome.verdict, outcome.score = Verdict.PASSED, exercise.points


def guessed_right(outcome: ExerciseResult) -> bool:
    """Return whether the guess of a prediction equals what JAX returns."""
    return outcome.note == show(outcome.reveal)
