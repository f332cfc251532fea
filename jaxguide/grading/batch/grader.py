"""Grade one submission: read it, run it in new workers, judge their replies."""

import concurrent.futures
import contextlib
import dataclasses
import hashlib
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import jax
import jaxlib
import numpy

import jaxguide
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
from jaxguide.grading.batch.control import Control, GraderBroken, Turns
from jaxguide.grading.batch.planted_answers import PlantedWorkers
from jaxguide.grading.batch.references import References
from jaxguide.grading.batch.similarity import fingerprint
from jaxguide.grading.batch.submission_result import CellFact, CellState, State, SubmissionResult
from jaxguide.grading.intake.file_search import holds_python
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.reading import CourseText, ReadSubmission
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import Isolation
from jaxguide.grading.workers.reader import Readers
from jaxguide.grading.workers.session import Session
from jaxguide.grading.workers.shared_programs import OWN, SHARED, VALUES, folder_of, is_safe, prune, share
from jaxguide.grading.workers.worker_process import GraderError, NotGraded, Surroundings, WorkerKilled

Tell = Callable[[Path, ExerciseResult], None]

Graded = tuple[SubmissionResult, int, str]
"""A result, how many controls the grader had passed before, and the grader's name. The next control that the same
grader passes confirms the result."""


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


@contextlib.contextmanager
def grading_threads(jobs: int, stop: Callable[[], None]) -> Iterator[concurrent.futures.ThreadPoolExecutor]:
    """Provide threads for gradings; at the end, `stop` those in progress."""
    executor = concurrent.futures.ThreadPoolExecutor(jobs, thread_name_prefix="grade")
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        stop()
        executor.shutdown()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _usable_isolation(settings: GradeSettings) -> Isolation:
    isolation = find_isolation()
    if isolation.missing and not settings.trust_submissions:
        raise GraderError(
            f"This machine does not isolate submissions completely: {'; '.join(isolation.missing)}. A submission could "
            "read the key and your files. Grade on Linux 5.13 or newer, or if you trust everyone who submitted, with "
            "--trust-submissions."
        )
    return isolation


class Grader:
    """Grade any number of submissions with the same settings, from any thread.

    Args:
        course: the course, with its keys.
        settings: how submissions are graded.
        tell: called with each exercise of a file as soon as its checks have run.
        fill: a folder to which workers save what they compile. Use it for trusted code only: it runs without isolation.
        lent: a folder of programs that workers load instead of those in the `compile_cache`.

    Raises:
        GraderError: this machine does not isolate submissions completely, and they are not trusted.
    """

    def __init__(
        self,
        course: Course,
        settings: GradeSettings,
        tell: Tell | None = None,
        fill: Path | None = None,
        lent: Path | None = None,
    ):
        self.course, self.settings, self._tell = course, settings, tell
        # The folder to which this process saves what it compiles, for this course only. If there is one, programs of a
        # lesson that are missing from the `compile_cache` are compiled first, for all workers.
        self.programs: Path | None = None
        self.name = ""
        # Marks that have already been reported cannot be taken back.
        self._turns = Turns()
        self.control = Control(course, self._grade_once, self._turns, settings.only, before_all=tell is not None)
        self._lock = threading.Lock()
        self._prepared: set[str] = set()
        # Skipped without hidden checks: visible inputs do not depend on it, and it takes as long as checking a file.
        self.course_digest = course_state_digest(course) if settings.hidden else ""
        self._inputs_digest = digest.course_digest(course) if settings.hidden else ""
        concealed = (course.folders.solutions, *(path for path in settings.conceal if not holds_python(path)))
        isolation = _usable_isolation(settings) if fill is None else Isolation(parts=())
        self._fill, self._lent = fill, lent
        hidden = tuple(path.absolute() for path in concealed)
        self._surroundings = Surroundings(hidden, settings.limits, isolation)
        # Without hidden checks, users check their own files.
        own = fill is not None or not settings.hidden
        self._readers = Readers(lambda: CourseText.of(course), None if own else self._surroundings)
        self._references = References(None if self.kept is None else self.kept / VALUES)
        self._planted = PlantedWorkers(course, self._references, self._around) if settings.hidden else None

    def grade(self, submitted: Path | Entry) -> SubmissionResult:
        """Grade one file. The student is named after the file; a batch sets the real name.

        If a worker is killed, as by the kernel when memory runs out, the file is graded again alone. If that happens
        again, it counts as ended by the submission's code, provided that the key's answers then pass.

        Raises:
            GraderError: workers do not start on this machine.
        """
        entry = Entry(submitted) if isinstance(submitted, Path) else submitted
        try:
            with self._turns.together():
                return self._grade_once(entry, self._tell)
        except WorkerKilled:
            pass  # leave `together`, which would keep this thread from being alone
        with self._turns.alone():
            return self._grade_again(entry)

    def _grade_again(self, entry: Entry) -> SubmissionResult:
        """Grade a file whose worker was killed; the caller is alone."""
        sessions: list[Session] = []
        result = self._grade_once(entry, sessions=sessions, is_rerun=True)
        was_killed = any(session.was_killed for session in sessions)
        if not (was_killed and self.settings.hidden and (why := self.control.confirm(result.lessons))):
            return result
        message = f"Not graded: the worker process was killed twice, and the key's answers do not pass: {why}"
        bare = SubmissionResult(entry.path, result.student, State.NOT_GRADED, course_digest=self.course_digest)
        return dataclasses.replace(bare, digest=result.digest, not_graded={"": message})

    def _grade_once(
        self, entry: Entry, tell: Tell | None = None, sessions: list[Session] | None = None, is_rerun: bool = False
    ) -> SubmissionResult:
        """Grade one file; `sessions` gets the sessions in which it runs."""
        started = time.monotonic()
        result = SubmissionResult(entry.path, entry.path.stem, course_digest=self.course_digest)
        try:
            content = entry.read()
            result.digest = hashlib.sha256(content).hexdigest()
            submission = self.read(entry.path, content)
            self._grade(submission, result, tell, [] if sessions is None else sessions, is_rerun)
        except UnreadableSubmission as problem:
            result.state, result.unreadable = State.UNREADABLE, str(problem)
        if result.not_graded:
            result.state = State.NOT_GRADED
        result.wall_s = round(time.monotonic() - started, 3)
        return result

    def grade_controlled(self, entry: Entry) -> Graded:
        """Grade one file, and the key's answers if a control is due; see `Control`.

        Raises:
            GraderBroken: the control submission fails. From then on every submission is refused.
            GraderError: the file could not be graded, although the control submission passes.
        """
        # This search does not parse the file.
        books = self.course.books.values()
        topics = [one.topic for one in books if any(name.encode() in entry.read() for name in one.exercise_names)]
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
        return result, passed, self.name

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
        programs, cache = self._fill or self._lent, self.settings.compile_cache
        if programs is None and cache is not None and is_safe(cache / SHARED):
            programs = cache / SHARED
        around = dataclasses.replace(self._surroundings, programs=programs, saves_programs=self._fill is not None)
        return around.of(self.course, topic)

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

    def _grade(
        self,
        submission: ReadSubmission,
        result: SubmissionResult,
        tell: Tell | None,
        sessions: list[Session],
        is_rerun: bool,
    ) -> None:
        if submission.dropped:
            result.repairs.append(said_of_dropped(submission.dropped, self.course.settings.dropped))
        if not submission.lessons:
            raise UnreadableSubmission(" ".join([submission.no_exercise, *result.repairs]))
        books = [self.course.books[topic] for topic in submission.lessons]
        books = [book for book in books if any(map(self._is_asked, book.exercises))]
        result.lessons, result.versions = [book.topic for book in books], _versions()
        lessons: list[tuple[Session, list[Judging]]] = []
        with contextlib.ExitStack() as stack:
            # Code that has seen a hidden input can reveal it in any later output, and students may read the output of
            # visible checks. So all visible checks of a file run before its first hidden one.
            for book in books:
                around = dataclasses.replace(self._around(book.topic), is_rerun=is_rerun)
                # An exercise that moved to a lesson which the file does not start brings none of the lesson's others.
                is_all = not submission.topics or book.topic in submission.topics
                asked = [e for e in book.exercises if self._is_asked(e) and (is_all or e.name in submission.defined)]
                session = Session(submission, book, [one.name for one in asked], around, sessions)
                stack.callback(session.rest)
                try:
                    session.define()
                except NotGraded as why:
                    result.not_graded.update((one.name, str(why)) for one in asked)
                # Record these before the first hidden input, because students read them.
                result.repairs += session.repairs
                result.cells += _cell_facts(submission, session, book.topic)
                names = book.exercise_names & submission.runs.keys()
                result.fingerprints.update((name, fingerprint(submission.runs[name])) for name in names)
                judgings = [self._judging(exercise) for exercise in asked]
                lessons.append((session, judgings))
                list(_ask_all(session, judgings, result.not_graded, hidden=False))
                if len(books) > 1:  # not the memory of many workers at a time
                    session.rest()
            for session, judgings in lessons:
                for judging in _ask_all(session, judgings, result.not_graded, hidden=True):
                    if tell is not None:
                        tell(result.path, judging.end())
                if len(books) > 1:
                    session.rest()
        for session, judgings in lessons:
            for worker in session.workers:
                result.cpu_s = round(result.cpu_s + worker.tree.total_cpu_s, 3)
                result.memory_bytes = max(result.memory_bytes, worker.tree.peak_bytes)
            for judging in judgings:
                why_not = result.not_graded.get(judging.exercise.name)
                outcome = (judging if why_not is None else self._judging(judging.exercise)).end()
                if why_not is not None:
                    # Record why there is no mark, which is not the same as zero points.
                    outcome = dataclasses.replace(outcome, verdict=Verdict.NOT_CHECKED, note=why_not)
                result.results.append(outcome)
        result.repairs = list(dict.fromkeys(result.repairs))

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


def _versions() -> dict[str, str]:
    """Return the versions of all that computes, which are those of the workers, too."""
    packages = {"jax": jax, "jaxlib": jaxlib, "numpy": numpy, "jaxguide": jaxguide}
    return {"python": platform.python_version(), **{name: one.__version__ for name, one in packages.items()}}


def _ask_all(
    session: Session, judgings: Iterable[Judging], not_graded: dict[str, str], hidden: bool
) -> Iterator[Judging]:
    """Run the visible or the hidden checks of each exercise; yield it, or note why it cannot be graded.

    Raises:
        GraderError: the grader does not work on this machine.
    """
    for judging in judgings:
        exercise = judging.exercise
        if exercise.name in not_graded:
            continue
        try:
            if judging.has_hidden or not hidden:
                judging.ask(session.answer(exercise.name), hidden)
        except NotGraded as why:
            not_graded[exercise.name] = str(why)
        except GraderError:
            raise
        except Exception as error:
            # A check of the course has a bug. This must not stop the batch, and must not count as a mark.
            said = said_of_course(error, exercise.files, (exercise.path, exercise.line))
            not_graded[exercise.name] = f"Not graded: a check of the course raised {said}."
        else:
            yield judging


def _cell_facts(submission: ReadSubmission, session: Session, lesson: str) -> list[CellFact]:
    """Return what happened to each cell; call it after `session.define()`."""
    planned = {cell.number for cell in session.cells}
    counting = {name: cells[-1].number for name, cells in session.definitions.items() if cells}
    facts = []
    for cell in submission.cells:
        fate, why = CellState.RAN, ""
        names = set(session.names).intersection(cell.defines)
        if cell.rejected:
            fate, why = CellState.REJECTED, cell.rejected
        elif cell.error is not None:
            fate, why = CellState.NOT_PYTHON, cell.error.message
        elif cell.number not in planned:
            fate, names = (CellState.EMPTY if cell.is_empty else CellState.AS_PRINTED), set()
        elif cell.number in session.lost:
            fate, why = CellState.LEFT_OUT, session.lost[cell.number].note
        elif cell.number in session.raised:
            error = session.raised[cell.number]
            fate, why = CellState.FAILED, f"{error.type_name}: {error.message}"
        if cell.number in planned:
            names -= set(cell.starters)
        counts = sorted(name for name, number in counting.items() if number == cell.number)
        facts.append(
            CellFact(lesson, cell.number, cell.label, fate, why, cell.magics, sorted(names | set(counts)), counts)
        )
    return facts
