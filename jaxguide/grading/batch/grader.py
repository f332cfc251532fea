"""Grade one submission: read it, run it in new workers, judge their replies."""

import contextlib
import dataclasses
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

from jaxguide.course.books import digest
from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.compilation_cache import PROGRAMS, KeptPrograms, compiled_once
from jaxguide.course.judging.draw import DEFAULT_SEED
from jaxguide.course.judging.judge import Judging
from jaxguide.course.judging.run_check import said_of_course
from jaxguide.course.limits import Limits
from jaxguide.course.requirements import pinned
from jaxguide.course.settings import said_of_dropped
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.cell_states import cell_facts
from jaxguide.grading.batch.control import Control, GraderBroken
from jaxguide.grading.batch.planted_answers import PlantedWorkers
from jaxguide.grading.batch.references import References
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.batch.turns import Turns
from jaxguide.grading.intake.file_search import holds_python
from jaxguide.grading.intake.file_to_grade import Entry, FileEntry, ReadEntry
from jaxguide.grading.intake.reading import CourseText, ReadSubmission
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import Isolation
from jaxguide.grading.workers.reader import Readers
from jaxguide.grading.workers.session import Session, Surroundings
from jaxguide.grading.workers.shared_programs import (
    OWN,
    SHARED,
    VALUES,
    ProgramFolder,
    folder_of,
    is_safe,
    prune,
    share,
)
from jaxguide.grading.workers.worker_process import GraderError, NotGraded, WorkerKilled
from jaxguide.grading.workers.worker_set_up import WorkerSetUp

__all__ = ["GradeSettings", "Grader", "SubmissionResult"]

Tell = Callable[[Path, ExerciseResult], None]


@dataclasses.dataclass(frozen=True)
class GradeSettings:
    """How every submission of a batch is graded.

    Args:
        seed: the seed that every input derives from.
        limits: the resource limits of one exercise and of a whole submission.
        all_or_nothing: whether to disable partial credit.
        hidden: whether hidden checks run.
        only: the names of the exercises to grade, or None for all.
        conceal: further folders and files that no worker may see, such as the submissions and the results.
        trust_submissions: whether code may run where this machine cannot isolate it completely.
        compile_cache: the folder of programs and values that batches share, see `shared_programs.folder_of`.
    """

    seed: int = DEFAULT_SEED
    limits: Limits = dataclasses.field(default_factory=Limits)
    all_or_nothing: bool = False
    hidden: bool = True
    only: frozenset[str] | None = None
    conceal: tuple[Path, ...] = ()
    trust_submissions: bool = False
    compile_cache: Path | None = None


def course_state_digest(course: Course, lessons: frozenset[str] | None = None) -> str:
    """Return a digest of all in a course that affects marks, and of the versions of JAX and of what it requires.

    Stored results are reused only for the same digest. Hidden inputs derive from the digest without the versions, so
    another JAX draws the same inputs.

    Args:
        course: the course.
        lessons: the lessons that matter; by default all.

    Returns:
        64 hexadecimal digits.
    """
    versions = "".join(f"{one}\n" for one in sorted(pinned(course.settings).values()))
    return hashlib.sha256(
        f"jax {jax.__version__}\n{versions}{digest.course_digest(course, lessons)}".encode()
    ).hexdigest()


@contextlib.contextmanager
def open_grader(
    course: Course,
    settings: GradeSettings,
    tell: Tell | None = None,
    lent: Path | None = None,
) -> "Iterator[Grader]":
    """Open a grader that reuses the programs and values of earlier batches, and saves new ones for later batches.

    Args:
        course: the course, with its keys.
        settings: how submissions are graded; `compile_cache` defaults to a folder in this user's cache.
        tell, lent: see `Grader`.

    Raises:
        GraderError: see `Grader`.
    """
    if settings.compile_cache is None:
        settings = dataclasses.replace(settings, compile_cache=folder_of(course_state_digest(course)))
    grader = Grader(course, settings, tell, lent=lent)
    with contextlib.ExitStack() as stack:
        own = None if grader.kept is None else stack.enter_context(KeptPrograms(grader.kept / OWN).lent())
        grader.programs = stack.enter_context(compiled_once(own))
        stack.callback(grader.close)
        yield grader


def usable_isolation(settings: GradeSettings) -> Isolation:
    """Return how submissions of a batch are isolated.

    Raises:
        GraderError: this machine does not isolate them completely, and they are not trusted.
    """
    isolation = find_isolation()
    if isolation.missing and not settings.trust_submissions:
        message = (
            "This machine does not isolate submissions completely: {missing}. A submission could read the key and your "
            "files. Grade on Linux 5.13 or newer, or if you trust everyone who submitted, with --trust-submissions."
        )
        raise GraderError(message.format(missing="; ".join(isolation.missing)))
    return isolation


@dataclasses.dataclass
class _Attempt:
    """One attempt to grade a file.

    Args:
        is_rerun: whether a worker was killed in the first attempt, see `Surroundings`.
        is_control: whether the file has the key's answers.
        told: the names of the exercises that were told.
        was_killed: whether a worker was killed in this attempt, which is a rerun.
    """

    is_rerun: bool = False
    is_control: bool = False
    told: set[str] = dataclasses.field(default_factory=set)
    was_killed: bool = False


class Grader:
    """Grade any number of submissions with the same settings, from any thread.

    Args:
        course: the course, with its keys.
        settings: how submissions are graded.
        tell: called with each exercise of a file as soon as its checks have run.
        fill: a folder to which workers save what they compile. Use it for trusted code only: it runs without isolation.
        programs: the folder to which this process saves what it compiles, for this course only. If given, programs of
            a lesson that are missing from the `compile_cache` are compiled first, for all workers.
        lent: a folder of programs that workers load instead of those in the `compile_cache`.

    Raises:
        GraderError: see `usable_isolation`.
    """

    def __init__(
        self,
        course: Course,
        settings: GradeSettings,
        tell: Tell | None = None,
        fill: Path | None = None,
        programs: Path | None = None,
        lent: Path | None = None,
    ):
        self.course, self.settings, self._tell = course, settings, tell
        self.programs = programs
        # Marks that have already been reported cannot be taken back.
        self._turns = Turns()
        self.control = Control(course, self._grade_control, self._turns, settings.only, before_all=tell is not None)
        self._lock = threading.Lock()
        self._prepared: set[str] = set()
        # Skipped without hidden checks: visible inputs do not depend on it, and it takes as long as checking a file.
        self.course_digest = course_state_digest(course) if settings.hidden else ""
        self._inputs_digest = digest.course_digest(course) if settings.hidden else ""
        concealed = (course.folders.solutions, *(path for path in settings.conceal if not holds_python(path)))
        isolation = usable_isolation(settings) if fill is None else Isolation(parts=())
        self._fill, self._lent = fill, lent
        hidden = tuple(path.absolute() for path in concealed)
        self._surroundings = Surroundings(hidden, settings.limits, isolation, set_up=WorkerSetUp.of(course))
        # Without hidden checks, users check their own files.
        own = fill is not None or not settings.hidden
        reads = None if own else isolation
        self._readers = Readers(lambda: CourseText.of(course), hidden, reads, self._surroundings.running)
        self._references = References(None if self.kept is None else self.kept / VALUES)
        self._planted = PlantedWorkers(course, self._references, self._around) if settings.hidden else None

    def grade(self, submitted: Path | Entry) -> SubmissionResult:
        """Grade one file. The student is named after the file; a batch sets the real name.

        If a worker is killed, as by the kernel when memory runs out, the file is graded again alone. If that happens
        again, it counts as ended by the submission's code, provided that the key's answers then pass.

        Raises:
            GraderError: workers do not start on this machine.
        """
        entry = FileEntry(submitted) if isinstance(submitted, Path) else submitted
        first = _Attempt()
        try:
            with self._turns.together():
                return self._grade_once(entry, first)
        except WorkerKilled:
            pass  # leave `together`, which would keep this thread from being alone
        with self._turns.alone():
            return self._grade_again(entry, first.told)

    def _grade_again(self, entry: Entry, told: set[str]) -> SubmissionResult:
        """Grade a file whose worker was killed; the caller is alone. Tell the exercises that are not in `told`."""
        attempt = _Attempt(is_rerun=True)
        result = self._grade_once(entry, attempt)
        why = self.control.confirm(result.lessons) if attempt.was_killed and self.settings.hidden else ""
        if why:
            message = "Not graded: the worker process was killed twice, and the key's answers do not pass: {why}"
            bare = SubmissionResult(entry.path, result.student, State.NOT_GRADED, course_digest=self.course_digest)
            return dataclasses.replace(bare, digest=result.digest, not_graded={"": message.format(why=why)})
        for one in result.results:
            if self._tell is not None and one.name not in result.not_graded and one.name not in told:
                self._tell(result.path, one)
        return result

    def _grade_control(self, entry: ReadEntry) -> SubmissionResult:
        return self._grade_once(entry, _Attempt(is_control=True))

    def _grade_once(self, entry: Entry, attempt: _Attempt) -> SubmissionResult:
        started = time.monotonic()
        result = SubmissionResult(entry.path, entry.path.stem, course_digest=self.course_digest)
        try:
            self._grade(entry, result, attempt)
        except UnreadableSubmission as problem:
            result.state, result.unreadable = State.UNREADABLE, str(problem)
        if result.not_graded:
            result.state = State.NOT_GRADED
        result.wall_s = round(time.monotonic() - started, 3)
        return result

    def grade_controlled(self, entry: ReadEntry) -> tuple[SubmissionResult, int]:
        """Grade one file, and the key's answers if a control is due; see `Control`.

        Returns:
            The result, and how many controls had passed before. The next control that passes confirms the result.

        Raises:
            GraderBroken: the control submission fails. From then on every submission is refused.
            GraderError: the file could not be graded, although the control submission passes.
        """
        books = self.course.books
        # This search does not parse the file.
        topics = [t for t, book in books.items() if any(name.encode() in entry.content for name in book.exercise_names)]
        with self._lock:
            for topic in topics:
                self.prepare(topic)
        self.control.before(topics)
        passed = self.control.passed
        try:
            result = self.grade(entry)
        except GraderBroken:
            raise
        except Exception as error:
            self.control.after_failure()
            raise GraderError(f"{type(error).__name__}: {error}") from error
        self.control.after(result, topics)
        return result, passed

    def prepare(self, topic: str) -> None:
        """Compile the programs and compute the values that a lesson's checks need, unless they are in the cache."""
        cache = self.settings.compile_cache
        if topic in self._prepared or self._lent is not None or self.programs is None or cache is None:
            return
        if not (cache / topic).exists():
            before = set(self.programs.glob(PROGRAMS))
            self._rehearse(self.course.books[topic])
            share(cache, set(self.programs.glob(PROGRAMS)) - before)
            with contextlib.suppress(OSError):
                (cache / topic).touch()
        prune(cache)
        self._prepared.add(topic)

    @property
    def kept(self) -> Path | None:
        """The folder of programs and values that affect marks, or None if a submission could change them."""
        may_keep = not self._surroundings.isolation.missing and self._fill is None
        return self.settings.compile_cache if may_keep else None

    def _rehearse(self, book: Book) -> None:
        """Judge the key's answers to a lesson in this process, to compile and compute what its checks need."""
        jax.clear_caches()  # programs cached in memory would not be saved to the folder
        for exercise in book.exercises:
            if exercise.key is not None and not exercise.is_prediction and self._is_asked(exercise):
                judging = self._judging(exercise)
                answer = self._references.of(exercise, book)
                with contextlib.suppress(Exception):  # the control submission reports errors
                    for hidden in (False, True):
                        judging.ask(answer, hidden)

    def _is_asked(self, exercise: Exercise) -> bool:
        return self.settings.only is None or exercise.name in self.settings.only

    def _around(self, topic: str) -> Surroundings:
        set_up = WorkerSetUp.of(self.course, topic)
        return dataclasses.replace(self._surroundings, programs=self._programs(), set_up=set_up)

    def _programs(self) -> ProgramFolder | None:
        if self._fill is not None:
            return ProgramFolder(self._fill, is_filled=True)
        if self._lent is not None:
            return ProgramFolder(self._lent)
        cache = self.settings.compile_cache
        return ProgramFolder(cache / SHARED) if cache is not None and is_safe(cache / SHARED) else None

    def read(self, path: Path, content: bytes) -> ReadSubmission:
        """Read a file in a limited process, or in this one if it is the user's own.

        Raises:
            UnreadableSubmission: there is nothing to grade; the message says why.
        """
        return self._readers.read(path, content)

    def close(self) -> None:
        """End the processes that wait for more files, and save the results of the key's answers for the next batch."""
        self._readers.close()
        if self._planted is not None:
            self._planted.close()
        self._references.keep_for_later()

    def stop(self) -> None:
        """Stop all workers, from any thread; grading in progress raises `GraderError`."""
        self._surroundings.running.stop()

    def _grade(self, entry: Entry, result: SubmissionResult, attempt: _Attempt) -> None:
        content = entry.read()
        result.digest = hashlib.sha256(content).hexdigest()
        submission = self.read(entry.path, content)
        if submission.dropped:
            result.repairs.append(said_of_dropped(submission.dropped, self.course.settings.dropped))
        if not submission.lessons:
            raise UnreadableSubmission(" ".join([submission.no_exercise, *result.repairs]))
        books = [self.course.books[topic] for topic in submission.lessons]
        books = [book for book in books if any(map(self._is_asked, book.exercises))]
        result.lessons = [book.topic for book in books]
        lessons: list[_Lesson] = []
        with contextlib.ExitStack() as stack:
            # Code that has seen a hidden input can reveal it in any later output, and students may read the output of
            # visible checks. So all visible checks of a file run before its first hidden one.
            sessions: list[Session] = []
            for book in books:
                around = dataclasses.replace(self._around(book.topic), is_rerun=attempt.is_rerun)
                # An exercise that moved to a lesson which the file does not start brings none of the lesson's others.
                is_all = not submission.topics or book.topic in submission.topics
                asked = [e for e in book.exercises if self._is_asked(e) and (is_all or e.name in submission.defined)]
                session = Session(submission, book, [one.name for one in asked], around, sessions)
                sessions.append(stack.enter_context(session))
                lessons.append(_Lesson(sessions[-1], [self._judging(exercise) for exercise in asked]))
                self._begin(submission, book, lessons[-1], result)
                if len(books) > 1:  # not the memory of many workers at a time
                    sessions[-1].rest()
            for lesson in lessons:
                for judging in lesson.ask_all(hidden=True):
                    if self._tell is not None and not (attempt.is_rerun or attempt.is_control):
                        attempt.told.add(judging.exercise.name)
                        self._tell(result.path, judging.end())
                if len(books) > 1:
                    lesson.session.rest()
        for lesson in lessons:
            self._end(lesson, result, attempt)
        result.repairs = list(dict.fromkeys(result.repairs))
        result.score = round(sum(one.score for one in result.results), 2)
        result.points = sum(one.points for one in result.results)

    def _begin(self, submission: ReadSubmission, book: Book, lesson: "_Lesson", result: SubmissionResult) -> None:
        """Run a submission's cells and the visible checks of one lesson."""
        session = lesson.session
        try:
            session.define()
        except NotGraded as why:
            lesson.not_graded = {one.exercise.name: str(why) for one in lesson.judgings}
        # Record these before the first hidden input, because students read them.
        result.repairs += session.repairs
        result.cells += [fact.to_plain() for fact in cell_facts(submission, session, book.topic)]
        names = book.exercise_names & submission.runs.keys()
        result.fingerprints.update((name, submission.runs[name]) for name in names)
        list(lesson.ask_all(hidden=False))

    def _end(self, lesson: "_Lesson", result: SubmissionResult, attempt: _Attempt) -> None:
        session = lesson.session
        result.versions = session.versions or result.versions
        attempt.was_killed |= session.was_killed
        result.cpu_s = round(result.cpu_s + session.cpu_s, 3)
        result.memory_bytes = max(result.memory_bytes, session.peak_bytes)
        for judging in lesson.judgings:
            if judging.exercise.name not in lesson.not_graded:
                result.results.append(judging.end())
                continue
            # Record why there is no mark, which is not the same as zero points.
            why_not = lesson.not_graded[judging.exercise.name]
            outcome = self._judging(judging.exercise).end()
            result.results.append(dataclasses.replace(outcome, verdict=Verdict.NOT_CHECKED, note=why_not))
        result.not_graded.update(lesson.not_graded)

    def _judging(self, exercise: Exercise) -> Judging:
        reference = None
        if self.settings.hidden:
            reference = self._references.of(exercise, self.course.book_of(exercise))
        return Judging(
            exercise,
            seed=self.settings.seed,
            reference=reference,
            all_or_nothing=self.settings.all_or_nothing,
            course_digest=self._inputs_digest,
            find_cause=True,
            planted=self._planted,
        )


@dataclasses.dataclass
class _Lesson:
    """One lesson of a submission while it is graded: its session, its exercises, and why some have no marks."""

    session: Session
    judgings: list[Judging]
    not_graded: dict[str, str] = dataclasses.field(default_factory=dict)

    def ask_all(self, hidden: bool) -> Iterator[Judging]:
        """Run the visible or the hidden checks of each exercise, and yield it if it can still be graded."""
        for judging in self.judgings:
            name = judging.exercise.name
            if name in self.not_graded:
                continue
            why_not = _ask(self.session, judging, hidden)
            if why_not is None:
                yield judging
            else:
                self.not_graded[name] = why_not


def _ask(session: Session, judging: Judging, hidden: bool) -> str | None:
    """Run an exercise's visible or hidden checks; return why they cannot be graded, or None if they were.

    Raises:
        GraderError: the grader does not work on this machine.
    """
    if hidden and not judging.has_hidden:
        return None
    try:
        judging.ask(session.answer(judging.exercise.name), hidden)
    except NotGraded as why:
        return str(why)
    except GraderError:
        raise
    except Exception as error:
        # A check of the course has a bug. This must not stop the batch, and must not count as a mark.
        exercise = judging.exercise
        said = said_of_course(error, exercise.files, (exercise.path, exercise.line))
        return f"Not graded: a check of the course raised {said}."
    return None
