"""Prove every exercise of a course: right answers pass, and wrong ones are rejected by the check that they name."""

import ast
import contextlib
import dataclasses
import inspect
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxguide.base.text import _
from jaxguide.code.sameness import is_starter
from jaxguide.code.slices import returns_value
from jaxguide.course import ledger
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.books.library import Course
from jaxguide.course.books.printer import stale_data, stale_files
from jaxguide.course.exercise import Exercise, Planted
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.judge import deciding, guessed_right, judge
from jaxguide.course.judging.run_check import says_its_input
from jaxguide.course.verdict import ExerciseResult, Verdict

MIN_WRONG = 2
MANY_EXAMPLES = 4
_MOST_SHOWN = 80

_COUNTS = ("exercises", "predictions", "checks", "hidden_checks", "wrong", "alternatives", "judged")


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that is missing or wrong in a book or key."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclasses.dataclass
class Proof:
    """The proof of a course: the problems found, and how much was tried."""

    problems: list[Problem] = dataclasses.field(default_factory=list)
    exercises: int = 0
    predictions: int = 0
    checks: int = 0
    hidden_checks: int = 0
    wrong: int = 0
    alternatives: int = 0
    judged: int = 0
    seeds: int = 0
    reproduced: set[str] = dataclasses.field(default_factory=set)

    def add(self, other: "Proof") -> None:
        """Add the proof of other exercises, made with as many seeds."""
        self.problems += other.problems
        self.reproduced |= other.reproduced
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_plain(self) -> dict[str, Any]:
        plain = dataclasses.asdict(self)
        plain["problems"] = [{**dataclasses.asdict(p), "path": str(p.path)} for p in self.problems]
        plain["reproduced"] = sorted(self.reproduced)
        return plain


def prove_course(course: Course, seeds: int = 2, only: str | None = None) -> Iterator[tuple[Exercise, Proof]]:
    """Prove the exercises of a course one by one.

    Args:
        course: the course, with its keys loaded.
        seeds: the number of seeds to judge each planted answer with; the verdict must not depend on the seed.
        only: the name of the only exercise to prove; by default all.

    Yields:
        Each exercise and the proof so far; the same `Proof` each time.
    """
    proof = Proof(seeds=seeds)
    for book in course.books.values():
        for exercise in book.exercises:
            if only is None or exercise.name == only:
                proof.add(prove_exercise(book, exercise, seeds))
                yield exercise, proof


def prove_exercise(book: Book, exercise: Exercise, seeds: int) -> Proof:
    """Return the proof of one exercise of a book, whose key must be loaded."""
    proof = Proof(seeds=seeds)
    # If an answer changed NumPy's print options, checks of the next exercise would read other text.
    with np.printoptions():
        _Prover(book, exercise, seeds, proof).prove()
    return proof


def reproduced(book: Book, exercise: Exercise) -> set[str]:
    """Return the documented examples that an exercise's checks compare with the ledger and notice changes in."""
    prover = _Prover(book, exercise, 1, Proof())
    prover.prove_documented()
    return prover.proof.reproduced


def stale_problems(course: Course, lessons: Iterable[str]) -> list[Problem]:
    """Return a problem for each file of these lessons that is not printed, or differs from what is printed now."""
    differs = _("differs from what the book prints now; run `jaxguide print`")
    missing = _("is not printed yet; run `jaxguide print`")
    stale = [path for name in lessons for path in stale_files(course.books[name], course.folders.notebooks)]
    stale += stale_data(course.files, course.folders.notebooks)
    return [Problem(path, 1, differs if path.exists() else missing) for path in stale]


def left_out_of_set_ups(course: Course, lessons: Iterable[str]) -> list[Problem]:
    """Return a note for each statement of these lessons that changes what exercises need but does not run with answers.

    Submissions run with what they need of a lesson, not with the whole lesson.
    """
    notes = []
    for book in (course.books[name] for name in lessons):
        for statement, unknown in book.left_out:
            message = _(
                "`{source}` does not run with answers, because it would change all code in the process; if exercises "
                "need it, use a setting in course.toml"
            )
            if unknown:
                message = _(
                    "`{source}` does not run with answers, because it reads {names}, which no given statement defines"
                )
            names = ", ".join(f"`{name}`" for name in sorted(unknown))
            source = " ".join(statement.source.split())
            shown = source if len(source) <= _MOST_SHOWN else f"{source[: _MOST_SHOWN - 1]}…"
            notes.append(Problem(book.path, statement.line, message.format(source=shown, names=names)))
    return notes


def unnamed_inputs(course: Course, lessons: Iterable[str]) -> list[Problem]:
    """Return a note for each exercise whose hidden checks do not say what kind of input they use.

    Of a hidden check that fails, students see no values, so that kind is all that they have to go by.
    """
    notes = []
    for exercise in (exercise for name in lessons for exercise in course.books[name].exercises):
        hidden = [] if exercise.key is None else [c for c in exercise.key.hidden if not says_its_input(c)]
        if hidden:
            message = _('`{name}`: say on what kind of input {checks} can fail, such as `on="a row with a zero in it"`')
            checks = ", ".join(f"`{check.name}`" for check in hidden)
            notes.append(Problem(hidden[0].path, hidden[0].line, message.format(name=exercise.name, checks=checks)))
    return notes


class _Prover:
    def __init__(self, book: Book, exercise: Exercise, seeds: int, proof: Proof):
        assert exercise.key is not None
        self.book, self.exercise, self.key = book, exercise, exercise.key
        self.seeds, self.proof = seeds, proof
        self.answers: dict[str, LocalAnswer] = {}

    def prove(self) -> None:
        self._count()
        for message in ladder_problems(self.exercise, lambda source: run_answer(self.book, source)):
            self._problem(message)
        self._prove_signature()
        if self.exercise.is_prediction:
            self._prove_prediction()
            return
        if returns_value(self.key.answer.source, self.exercise.name) and not deciding(self.exercise):
            message = _(
                "`{name}` returns a value, but no required check decides on it, and observations in the process that "
                "runs an answer can be forged. Add a check of stage `value` and kind `value`, or of kind `relation` "
                "if several values are right"
            )
            self._problem(message.format(name=self.exercise.name))
        if not self._prove_right(self.key.answer, _("the key's answer")):
            return
        for planted in self.key.alternatives:
            self._prove_right(planted, _("the right answer `{name}`").format(name=planted.name))
        self._prove_starter()
        self._prove_wrong()
        self.prove_documented()

    def _problem(self, message: str, where: Planted | None = None) -> None:
        path, line = (where.path, where.line) if where else (self.exercise.path, self.exercise.line)
        self.proof.problems.append(Problem(path, line, message))

    def _count(self) -> None:
        proof, exercise = self.proof, self.exercise
        proof.exercises += 1
        proof.predictions += exercise.is_prediction
        proof.checks += len(exercise.checks)
        proof.hidden_checks += len(self.key.hidden)
        proof.wrong += len(self.key.wrong)
        proof.alternatives += len(self.key.alternatives)

    def _prove_signature(self) -> None:
        body = ast.parse(self.key.answer.source).body
        node = next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == self.exercise.name)
        signature = f"({ast.unparse(node.args)})"
        if signature != self.exercise.signature:
            message = _("the signature of the key's `{name}{key}` differs from that of the book's `{name}{book}`")
            self._problem(
                message.format(name=self.exercise.name, key=signature, book=self.exercise.signature), self.key.answer
            )

    def _judge(self, planted: Planted, seed: int, exercise: Exercise | None = None) -> ExerciseResult:
        self.proof.judged += 1
        reference = self._answer(self.key.answer)
        # With the first seed, run all checks, since each must cope with every answer. With the others, it is enough to
        # see that the same check is the first to reject it.
        return judge(
            exercise or self.exercise, self._answer(planted), seed=seed, reference=reference, until_failure=seed > 0
        )

    def _answer(self, planted: Planted) -> LocalAnswer:
        """Return a planted answer, run only once so that its compiled programs serve every seed."""
        if planted.name not in self.answers:
            namespace = run_answer(self.book, planted.source)
            self.answers[planted.name] = LocalAnswer(self.exercise.name, namespace[self.exercise.name], namespace)
        return self.answers[planted.name]

    def _prove_right(self, planted: Planted, what: str) -> bool:
        for seed in range(self.seeds):
            try:
                result = self._judge(planted, seed)
            except Exception as error:
                self._problem(_("{what} cannot be run: {error}").format(what=what, error=_one_line(error)), planted)
                return False
            failure = result.first_failure
            if result.verdict is not Verdict.PASSED or failure:
                message = _("{what} is rejected by the check `{check}` (seed {seed}): {why}")
                name, why = (failure.name, failure.trouble or failure.message) if failure else ("-", result.verdict)
                self._problem(message.format(what=what, check=name, seed=seed, why=why), planted)
                return False
        return True

    def _prove_starter(self) -> None:
        starter = Planted("starter", self.exercise.starter_source + "\n", self.exercise.line, self.exercise.path)
        name = self.exercise.name
        try:
            passed = self._judge(starter, 0).verdict is Verdict.PASSED
        except Exception as error:
            self._problem(
                _("the starter of `{name}` breaks a check: {error}").format(name=name, error=_one_line(error))
            )
            return
        if passed:
            self._problem(_("the starter of `{name}` passes all checks").format(name=name))

    def _prove_wrong(self) -> None:
        name, checks = self.exercise.name, {check.name for check in self.exercise.all_checks()}
        if len(self.key.wrong) < MIN_WRONG:
            message = _("`{name}` has {count} planted wrong answers; it needs at least {least}")
            self._problem(message.format(name=name, count=len(self.key.wrong), least=MIN_WRONG), self.key.answer)
        for planted in self.key.wrong:
            if planted.rejected_by not in checks:
                message = _("the wrong answer `{wrong}` names the check `{check}`, which `{name}` does not have")
                self._problem(message.format(wrong=planted.name, check=planted.rejected_by, name=name), planted)
                continue
            for seed in range(self.seeds):
                if not self._rejected_as_named(planted, seed):
                    break

    def _rejected_as_named(self, planted: Planted, seed: int) -> bool:
        try:
            result = self._judge(planted, seed)
            is_untouched = is_starter(planted.source, self.exercise)
        except Exception as error:
            message = _("the wrong answer `{wrong}` breaks a check: {error}")
            self._problem(message.format(wrong=planted.name, error=_one_line(error)), planted)
            return False
        failure = result.first_failure
        if is_untouched:
            message = _("the wrong answer `{wrong}` is the starter, which counts as not attempted: write another")
            self._problem(message.format(wrong=planted.name), planted)
        elif failure is None:
            message = _("the wrong answer `{wrong}` passes all checks (seed {seed})")
            self._problem(message.format(wrong=planted.name, seed=seed), planted)
        elif failure.trouble:
            message = _("the wrong answer `{wrong}` breaks the check `{check}`: {trouble}")
            self._problem(message.format(wrong=planted.name, check=failure.name, trouble=failure.trouble), planted)
        elif failure.name != planted.rejected_by:
            message = _("the wrong answer `{wrong}` is rejected by `{got}`, not by `{named}` (seed {seed}): {why}")
            words = {"wrong": planted.name, "got": failure.name, "named": planted.rejected_by, "seed": seed}
            self._problem(message.format(**words, why=failure.message), planted)
        elif failure.misconceptions and planted.name not in failure.misconceptions:
            message = _("the check `{check}` rejects `{wrong}` but names the misconception {names}")
            names = ", ".join(failure.misconceptions) or "-"
            self._problem(message.format(check=failure.name, wrong=planted.name, names=names), planted)
        else:
            return True
        return False

    def _prove_prediction(self) -> None:
        try:
            result = self._judge(self.key.answer, 0)
        except Exception as error:
            self._problem(_("the prediction cannot be run: {error}").format(error=_one_line(error)), self.key.answer)
            return
        if result.verdict is not Verdict.PASSED or not guessed_right(result):
            message = _("the key predicts {guess}, but JAX gives {live}")
            self._problem(message.format(guess=result.note, live=result.reveal), self.key.answer)

    def prove_documented(self) -> None:
        exercise, entries = self.exercise, ledger.entries()
        named = [example for check in exercise.all_checks() for example in check.reproduces]
        for example in {*exercise.reproduces, *named}:
            if example not in entries:
                self._problem(_("the ledger has no documented example {example}").format(example=example))
        for example in sorted({*exercise.reproduces} ^ {*named}):
            message = _("{example} must be listed on both the exercise and one of its checks")
            self._problem(message.format(example=example))
        if len(exercise.reproduces) > MANY_EXAMPLES and not exercise.why_so_many:
            message = _("`{name}` reproduces more than {most} documented examples; explain it in `why_so_many`")
            self._problem(message.format(name=exercise.name, most=MANY_EXAMPLES))
        for example in exercise.reproduces:
            if example in named and example in entries and self._is_reproduced(example):
                self.proof.reproduced.add(example)

    def _is_reproduced(self, example: str) -> bool:
        """Return whether the checks that name an example compare each part of its record and notice changes."""
        parts = ledger.parts(example)
        if not parts:
            self._problem(_("the ledger's entry {example} has no record to compare with").format(example=example))
            return False
        exercise = self._naming(example)
        with ledger.noting_comparisons() as noted:
            self._judge(self.key.answer, 0, exercise)
        for part in parts:
            if (example, part) not in noted:
                message = _("no check compares the {part} of {example} with the ledger")
                self._problem(message.format(part=part, example=example))
                return False
            with ledger.corrupted(example, part):
                is_noticed = self._judge(self.key.answer, 0, exercise).first_failure is not None
            if not is_noticed:
                message = _("if the {part} of {example} changes in the ledger, no check that names it fails")
                self._problem(message.format(part=part, example=example))
                return False
        return True

    def _naming(self, example: str) -> Exercise:
        """Return the exercise with only the checks that name a documented example."""
        checks, hidden = (
            [check for check in checks if example in check.reproduces]
            for checks in (self.exercise.checks, self.key.hidden)
        )
        return dataclasses.replace(self.exercise, checks=checks, key=dataclasses.replace(self.key, hidden=hidden))


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {inspect.cleandoc(str(error)).splitlines()[0] if str(error) else ''}"


def ladder_problems(exercise: Exercise, run: Callable[[str], dict[str, Any]]) -> Iterator[str]:
    """Yield a sentence for each problem with the hints of an exercise.

    Args:
        exercise: the exercise; its fourth hint, if it has one, is Python that runs.
        run: a function that runs Python source in a new student namespace and returns the namespace.
    """
    question, concept, skeleton, *siblings = exercise.hints
    name = exercise.name
    if "?" not in question:
        yield _("the first hint of `{name}` is not a question").format(name=name)
    if "https://" not in concept:
        yield _("the second hint of `{name}` has no link to the concept").format(name=name)
    if "____" not in skeleton:
        yield _("the third hint of `{name}` has no blank `____`").format(name=name)
    for source in siblings:
        yield from _sibling_problems(exercise, source, run)


def _sibling_problems(exercise: Exercise, source: str, run: Callable[[str], dict[str, Any]]) -> Iterator[str]:
    name = exercise.name
    try:
        defined = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        with contextlib.redirect_stdout(io.StringIO()):
            names = run(source)
    except Exception as error:
        message = _("the worked sibling of `{name}` cannot be run: {kind}: {error}")
        yield message.format(name=name, kind=type(error).__name__, error=error)
        return
    if name in defined:
        yield _("the worked sibling of `{name}` defines `{name}` itself; work out another task").format(name=name)
    for other in defined:
        if _passes(exercise, LocalAnswer(name, names[other], names)):
            message = _("the worked sibling `{other}` of `{name}` is an answer to it; work out another task")
            yield message.format(name=name, other=other)


def _passes(exercise: Exercise, answer: LocalAnswer) -> bool:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        return judge(exercise, answer).verdict is Verdict.PASSED
    return False
