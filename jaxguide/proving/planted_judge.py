"""Judge the planted answers of one exercise, and note what is wrong with them."""

import copy
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxguide import compat
from jaxguide.course import ledger
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.exercise import Check, Exercise, Planted
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.judge import Judging
from jaxguide.course.judging.run_check import raised_at
from jaxguide.course.verdict import AnswerGone, CheckResult, ExerciseResult, Verdict
from jaxguide.grading.batch.references import Reference, References
from jaxguide.grading.workers import wire
from jaxguide.proving.limited import LimitedAnswer, TimeLimit
from jaxguide.proving.proof import Problem, Proof, ProofSettings, Verdicts, what_is


def passes(
    book: Book, exercise: Exercise, settings: ProofSettings, stuck: Callable[[Problem], None], *, planted: Planted
) -> bool:
    """Return whether an answer that is not in the key passes, judged as a planted one with the first seed.

    Args:
        book: the book, whose key must be loaded.
        exercise: the exercise.
        settings: how answers are judged.
        stuck: see `TimeLimit`.
        planted: the answer.
    """
    judge = PlantedJudge(book, exercise, settings, stuck)
    with np.printoptions(), compat.float64(book.x64), judge.watch:
        result = judge._result(planted, 0)
    return result is not None and result.verdict is Verdict.PASSED


@dataclasses.dataclass(frozen=True)
class KeyRun:
    """The key's answer as it was judged: by the checks of `exercise`, which compared these parts of examples."""

    exercise: Exercise
    result: ExerciseResult
    compared: set[tuple[str, str]]


class PlantedJudge:
    """Judges planted answers of one exercise of a book, whose key must be loaded.

    `proof` has the problems found, and the verdicts. `key_run` is what the key gave at first, and serves all that is
    proven of it.
    """

    def __init__(
        self,
        book: Book,
        exercise: Exercise,
        settings: ProofSettings,
        stuck: Callable[[Problem], None] | None = None,
    ):
        assert exercise.key is not None
        self.book, self.exercise, self.key = book, exercise, exercise.key
        self.settings, self.proof, self.stuck = settings, Proof(seeds=settings.seeds), stuck
        self.tapes = Tape(), Tape()
        self.key_run: KeyRun | None = None
        self.references = References()
        self.at = self.key.answer
        self.watch = TimeLimit(settings.limits, self._tell_stuck if stuck else None)

    def _problem(self, message: str, where: Planted | Check | None = None, details: tuple[str, ...] = ()) -> None:
        path, line = (where.path, where.line) if where else (self.exercise.path, self.exercise.line)
        self.proof.problems.append(Problem(path, line, message, details))

    def _result(self, planted: Planted, seed: int, exercise: Exercise | None = None) -> ExerciseResult | None:
        """Judge a planted answer, maybe by some checks only; return None if that failed, which is then a problem."""
        what = what_is(planted, self.exercise)
        try:
            result = self._judge(planted, seed, exercise)
        except AnswerGone as gone:
            self._problem(f"{what} cannot be run: {gone.note}", planted)
            return None
        except Exception as error:
            # A mistake in a check, or in what it calls, is told where it stands.
            path, line = raised_at(error, self.exercise.files, (planted.path, planted.line))
            self.proof.problems.append(Problem(path, line, f"{what} cannot be judged: {_one_line(error)}"))
            return None
        late = next((check for check in result.checks if check.verdict is Verdict.OUT_OF_TIME), None)
        if late is not None:
            details = (f"Call: {late.call}",) if late.call else ()
            self._problem(f"{what} ran too long at the check `{late.name}`: {late.message}", planted, details)
            return None
        if seed == 0 and exercise is None:
            self.proof.verdicts[self.exercise.name, planted.name] = Verdicts.of(result)
        return result

    def _judge(self, planted: Planted, seed: int, exercise: Exercise | None = None) -> ExerciseResult:
        reference: Answer = self._reference(planted)
        answer: Answer = self._answer(planted)  # last, since failures quote lines of the code that was run last
        self.proof.judged += 1
        self.at = planted
        self.watch.begin()
        asked = exercise or self.exercise
        if planted is not self.key.answer or self.key_run is not None:
            return self._run_checks(asked, answer, reference, seed)
        # What the key gives at first serves all that is proven of it.
        answer, reference = Recorded(answer, self.tapes[0]), Recorded(reference, self.tapes[1])
        with ledger.asking_the_key() as compared:
            result = self._run_checks(asked, answer, reference, seed)
        self.key_run = KeyRun(asked, result, compared)
        return result

    def _run_checks(self, exercise: Exercise, answer: Answer, reference: Answer, seed: int) -> ExerciseResult:
        judging = Judging(exercise, seed=seed, reference=reference, course_digest=self.settings.course_digest)
        return judging.judge(answer, until_decided=True)

    def _answer(self, planted: Planted) -> LimitedAnswer:
        """Run a planted answer, anew each time: what it and its traces have noted must not decide on later verdicts."""
        self.at = planted
        namespace = self.run(planted.source)
        return self.limited(namespace[self.exercise.name], namespace)

    def _reference(self, planted: Planted) -> Answer:
        """Return the key's answer: run and limited until it is proven, then as the grader keeps it."""
        if planted is self.key.answer:
            answer = self._answer(planted)
            answer.is_apart = True
            return answer
        return Reference(self.references, self.exercise, self.book)

    def run(self, source: str) -> dict[str, Any]:
        """Run Python source in a new student namespace and return the namespace."""
        self.watch.begin()
        return self.watch.call(lambda: run_answer(self.book, source))

    def limited(self, function: Callable[..., Any], names: dict[str, Any]) -> LimitedAnswer:
        """Make an answer from a function and its namespace."""
        return LimitedAnswer(self.exercise.name, function, names, self.watch)

    def _tell_stuck(self, note: str) -> None:
        assert self.stuck is not None
        message = f"{what_is(self.at, self.exercise)} does not end: {note}, but could not be interrupted"
        self.stuck(Problem(self.at.path, self.at.line, message))

    def _repeat(self) -> tuple[CheckResult | None, bool]:
        """Run the checks again on the first replies to the key; return what fails, and whether they ask for others."""
        assert self.key_run is not None
        tapes = [Tape(copy.deepcopy(tape.calls)) for tape in self.tapes]
        answer, reference = (Repeated(self.exercise.name, tape) for tape in tapes)
        failure = self._run_checks(self.key_run.exercise, answer, reference, 0).first_failure
        return failure, any(tape.differs for tape in tapes)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {inspect.cleandoc(str(error)).splitlines()[0] if str(error) else ''}"


@dataclasses.dataclass
class Tape:
    """The requests to one answer in order, each with its reply; `place` is the next one to repeat."""

    calls: list[tuple[bytes, dict[str, Any]]] = dataclasses.field(default_factory=list)
    place: int = 0
    differs: bool = False


class Recorded(Answer):
    """An answer whose requests and replies are recorded."""

    def __init__(self, inner: Answer, tape: Tape):
        super().__init__(inner.name)
        self._inner, self._tape = inner, tape

    def _ask(self, request: Request) -> dict[str, Any]:
        asked = _written(request)
        reply = self._inner._ask(request)
        # Checks may change what they get.
        self._tape.calls.append((asked, copy.deepcopy(reply)))
        return reply


class Repeated(Answer):
    """The answers on a tape, given again as long as the requests are the same."""

    def __init__(self, name: str, tape: Tape):
        super().__init__(name)
        self._tape = tape

    def _ask(self, request: Request) -> dict[str, Any]:
        tape = self._tape
        if not tape.differs and tape.place < len(tape.calls):
            asked, reply = tape.calls[tape.place]
            tape.place += 1
            if asked == _written(request):
                return reply
        tape.differs = True
        raise AnswerGone(Verdict.DIED, "")


def _written(request: Request) -> bytes:
    try:
        return wire.encode(request)
    except wire.WireError:  # too large; such requests count as equal
        return b""
