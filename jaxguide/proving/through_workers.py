"""Grade keys, starters and planted answers as if students had submitted them, and compare the verdicts.

`grade` judges through workers and under limits, so what is proven in one process may be graded differently.
"""

import collections
import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise, Planted
from jaxguide.course.judging.compilation_cache import PROGRAMS
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.control import submission_of
from jaxguide.grading.batch.grader import Grader, GradeSettings, cores, grading_threads, open_grader
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.proving.proof import Problem, Verdicts, call_and_values, what_is
from jaxguide.proving.rewording import as_given, reworded_starter

KnownVerdicts = Mapping[tuple[str, str], Verdicts]
"""Verdicts by the names of exercise and answer, as `Proof.verdicts` has them."""


@dataclasses.dataclass(frozen=True)
class HandedIn:
    """A planted answer in a submission, and the verdicts of this process on it."""

    exercise: Exercise
    planted: Planted
    here: Verdicts


@dataclasses.dataclass
class WorkerProof:
    """What was graded through workers.

    Args:
        problems: the differences.
        answers: the number of answers.
        cpu_s: the processor time of workers.
    """

    problems: list[Problem] = dataclasses.field(default_factory=list)
    answers: int = 0
    cpu_s: float = 0.0


def prove_through_workers(
    course: Course,
    exercises: Iterable[Exercise],
    verdicts: KnownVerdicts,
    *,
    jobs: int | None = None,
    programs: Path | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> WorkerProof:
    """Grade the planted answers of exercises, and return how the verdicts differ from those of this process.

    Each submission answers each exercise of a lesson once. An answer with another verdict is graded again in a
    submission of its own, because answers in one notebook may define the same helper.

    Args:
        course: the course, with its keys.
        exercises: the exercises.
        verdicts: those of this process; answers without any are left out.
        jobs: the number of submissions to grade at a time; by default one per core.
        programs: a folder with programs that the same answers were compiled into, in the layout of JAX's compilation
            cache. Workers load these; by default, only those that all submissions may read.
        tell: called with how many submissions are graded, and of how many.

    Raises:
        GraderError: workers do not start on this machine.
    """
    proof, exercises = WorkerProof(), list(exercises)
    names = frozenset(exercise.name for exercise in exercises)
    # The author's own answers are as trusted as the books, which have already run in this process.
    settings = GradeSettings(
        limits=course.settings.limits,
        only=None if names == course.exercises.keys() else names,
        trust_submissions=True,
    )
    with (
        _lent(programs) as lent,
        open_grader(course, settings, lent=lent) as grader,
        grading_threads(jobs or cores(), grader.stop) as pool,
    ):
        waiting = [
            (book, answers, _submit(pool, grader, book, answers))
            for book, answers in submissions(course, exercises, verdicts)
        ]
        for number, (book, answers, future) in enumerate(waiting, start=1):
            result = future.result()
            proof.answers += len(answers)
            proof.cpu_s += result.cpu_s
            for answer in answers:
                if _differences(answer, result):
                    alone = _submit(pool, grader, book, [answer]).result()
                    proof.cpu_s += alone.cpu_s
                    proof.problems += _differences(answer, alone)
            tell(number, len(waiting))
    return proof


@contextlib.contextmanager
def _lent(programs: Path | None) -> Iterator[Path | None]:
    """Provide a copy of a folder of programs that workers can read, since they may run as a user of their own."""
    if programs is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="jaxguide-programs-") as folder:
        lent = Path(folder)
        for path in programs.glob(PROGRAMS):
            try:
                os.link(path, lent / path.name)
            except OSError:  # it is on another disk
                shutil.copyfile(path, lent / path.name)
            (lent / path.name).chmod(0o644)
        lent.chmod(0o755)
        yield lent


def submissions(
    course: Course, exercises: Iterable[Exercise], verdicts: KnownVerdicts
) -> Iterator[tuple[Book, list[HandedIn]]]:
    """Yield submissions with all planted answers of some exercises; the first of each lesson has the keys."""
    by_lesson = collections.defaultdict[str, list[list[HandedIn]]](list)
    for exercise in exercises:
        by_lesson[exercise.lesson].append(_handed_in(exercise, verdicts))
    for topic, queues in by_lesson.items():
        for number in range(max(map(len, queues))):
            yield course.books[topic], [queue[number] for queue in queues if number < len(queue)]


def _handed_in(exercise: Exercise, verdicts: KnownVerdicts) -> list[HandedIn]:
    key = exercise.key
    assert key is not None
    judged = [key.answer, *key.alternatives, *key.wrong, reworded_starter(exercise)]
    found = [
        HandedIn(exercise, one, verdicts[exercise.name, one.name])
        for one in judged
        if (exercise.name, one.name) in verdicts
    ]
    unchecked = {check.name: Verdict.NOT_CHECKED for check in exercise.all_checks()}
    return [*found, HandedIn(exercise, as_given(exercise), Verdicts(Verdict.NOT_ATTEMPTED, 0.0, unchecked))]


def _submit(
    pool: ThreadPoolExecutor, grader: Grader, book: Book, answers: Sequence[HandedIn]
) -> Future[SubmissionResult]:
    if len(answers) == len(book.exercises):  # the programs of some exercises must not be kept as those of the lesson
        grader.prepare(book.topic)
    return pool.submit(grader.grade, submission_of(book, [answer.planted.source for answer in answers]))


def _differences(answer: HandedIn, result: SubmissionResult) -> list[Problem]:
    """Return a problem if a submission's verdicts on an answer differ from those of this process."""
    planted, name, here = answer.planted, answer.exercise.name, answer.here
    what = what_is(planted, answer.exercise)
    why_not = result.unreadable or result.not_graded.get(name) or result.not_graded.get("")
    outcome = next((one for one in result.results if one.name == name), None)
    if why_not is not None or outcome is None:
        return [Problem(planted.path, planted.line, f"{what} could not be graded: {why_not or '-'}")]
    for check in outcome.checks:
        verdict = here.checks[check.name]
        # Here, judging stopped when the marks were decided.
        if verdict not in (check.verdict, Verdict.NOT_CHECKED):
            verdicts = f"{verdict.value} in this process, {check.verdict.value} in a worker"
            message = f"{what} is judged differently by the check `{check.name}`: {verdicts}"
            details = (*filter(None, [check.message]), *call_and_values(check))
            return [Problem(planted.path, planted.line, message, details)]
    there = Verdicts.of(outcome)
    if (there.verdict, there.score) == (here.verdict, here.score):
        return []
    message = (
        f"{what} is judged differently: {here.verdict.value} with {here.score:g} points in this process, "
        f"{there.verdict.value} with {there.score:g} points in a worker"
    )
    return [Problem(planted.path, planted.line, message)]
