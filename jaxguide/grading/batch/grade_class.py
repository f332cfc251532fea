"""Grade a whole class as one command asks for it: each submission once, each recorded the moment it is graded."""

import concurrent.futures
import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.text import _
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import Course
from jaxguide.grading.batch.batch_result import BatchResult, load_batch
from jaxguide.grading.batch.control import GraderBroken
from jaxguide.grading.batch.grader import GradeSettings, open_grader
from jaxguide.grading.batch.habits import habits_of
from jaxguide.grading.batch.pools import Graded, Pool, PoolLost, ThreadPool
from jaxguide.grading.batch.store import RowKey, Store, StoreError, settings_digest
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_owners import StudentPattern
from jaxguide.grading.intake.file_search import holds_python
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.intake.instructor_tables import Override, TableError, read_overrides, read_roster, unknown_student
from jaxguide.grading.intake.lineup import LineUp, NothingToGrade, Submitted, find_entries, is_in, line_up
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.worker_process import GraderError

Watch = Callable[[SubmissionResult, bool], None]
"""Told each result as it comes, and whether it was graded now rather than found in the store."""

OVERRIDES_NAME = "overrides.csv"


@dataclasses.dataclass(frozen=True)
class Order:
    """What is to be graded, and how.

    Args:
        paths: files, folders and archives.
        course: the course, with its keys.
        out: the folder for results. Its `overrides.csv` is read where `overrides` names no other file.
        settings: how each submission is graded; where the submissions are is added to `conceal`.
        jobs: how many at a time; by default as many as there are cores.
        roster, overrides: the instructor's tables.
        student_from: where in a path the student's name is.
        scheduler: the address of a Dask scheduler whose workers grade.
    """

    paths: Sequence[Path]
    course: Course
    out: Path
    settings: GradeSettings = dataclasses.field(default_factory=GradeSettings)
    jobs: int | None = None
    roster: Path | None = None
    overrides: Path | None = None
    student_from: str | None = None
    scheduler: str | None = None


class ClassRun:
    """One run over a class.

    Args:
        order: what is to be graded.

    Raises:
        NothingToGrade: there is no submission.
        PatternError, TableError: a pattern or table of the instructor's is not as it must be.
        FileNotFoundError: a path is not there.
    """

    def __init__(self, order: Order):
        self.order = order
        course = order.course
        roster = read_roster(order.roster) if order.roster is not None else None
        pattern = StudentPattern(order.student_from) if order.student_from is not None else None
        entries = find_entries(order.paths, order.out, pattern=pattern, roster=roster or ())
        if not entries:
            raise NothingToGrade(_("There is no notebook (.ipynb) and no Python file (.py) in what was named."))
        self.line: LineUp = line_up(entries, course, roots=order.paths, pattern=pattern, roster=roster)
        self.overrides = self._read_overrides()

    def _read_overrides(self) -> list[Override]:
        path = self.order.overrides
        if path is None:
            path = self.order.out / OVERRIDES_NAME
            if not path.is_file():
                return []
        overrides = read_overrides(path, self.order.course)
        students = [*(one.student for one in self.line.files), *(self.line.roster or [])]
        known = {name.casefold() for name in students}
        for override in overrides:
            if override.student.casefold() not in known:
                raise TableError(f"{path}: {unknown_student(override, students)}")
        return overrides

    @property
    def count(self) -> int:
        """How many files are graded or found graded."""
        return sum(not one.superseded for one in self.line.files)

    def grade(self, store: Store, watch: Watch = lambda result, is_new: None) -> None:
        """Grade all that has no final result in the store yet, and record each result at once.

        If this is interrupted, run it again with the same store, and it goes on: each submission is recorded once, and
        run once or more, the later times with the same inputs as the first.

        Args:
            store: where results are kept.
            watch: is told of progress.

        Raises:
            GraderBroken: the key's own answers do not pass. What was graded since they last did is taken out of the
                store.
            PoolLost: nothing grades any more.
            StoreError: the disk is full, or the store cannot be written.
        """
        with _pool(self.order, self._settings()) as pool:
            records = _Records(self, store, pool.course_digest, watch)
            pending: dict[concurrent.futures.Future[Graded], tuple[int, RowKey]] = {}

            def take() -> None:
                done, _waiting = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    records.take(*pending.pop(future), future)

            try:
                for place, key, entry in records.to_grade():
                    # A short queue: what is read and not yet graded is all that is held in memory.
                    while len(pending) >= 2 * pool.jobs:
                        take()
                    pending[pool.submit(entry)] = place, key
                while pending:
                    take()
            except GraderBroken:
                records.forget_unconfirmed()
                raise
            finally:
                with contextlib.suppress(StoreError):
                    records.keep_batch()

    def result(self, store: Store) -> BatchResult:
        """Gather what it came to, as far as it came."""
        return load_batch(store, self.overrides)

    def _settings(self) -> GradeSettings:
        settings = self.order.settings
        # Where Python itself lies below a folder, as in a clone, its files are hidden one by one.
        folders = [path for path in self.order.paths if path.is_dir() and not holds_python(path)]
        # Of files in an archive it is the archive that no worker may see.
        paths = {getattr(one.entry, "archive", one.entry.path): None for one in self.line.files}
        single = [path for path in paths if not any(is_in(path, folder) for folder in folders)]
        conceal = (*settings.conceal, self.order.out, *folders, *single)
        return dataclasses.replace(settings, conceal=conceal)


class _Records:
    """Writes down what each file came to, in the store and in the batch's list of rows.

    Args:
        run: what is graded.
        store: where results are kept.
        course_digest: of what decides about marks where submissions are graded.
        watch: is told of progress.
    """

    def __init__(self, run: ClassRun, store: Store, course_digest: str, watch: Watch):
        self._line, self._course, self._settings = run.line, run.order.course, run.order.settings
        self._store, self._course_digest, self._watch = store, course_digest, watch
        self._settings_digest = settings_digest(self._settings)
        self._rows: list[dict[str, Any]] = [{"student": f.student, "path": str(f.entry.path)} for f in self._line.files]
        self._habits = habits_of([(one.entry.path, one.student) for one in self._line.files])
        self._unconfirmed: list[tuple[int, str, int]] = []

    def forget_unconfirmed(self) -> None:
        """Take out what was graded since the key's own answers last passed."""
        forgotten = {row for row, _source, _passed in self._unconfirmed}
        self._store.forget(sorted(forgotten))
        for row in self._rows:
            if row.get("row") in forgotten:
                del row["row"]

    def to_grade(self) -> Iterator[tuple[int, RowKey, ReadEntry]]:
        """Yield each file that needs grading; write down at once what does not."""
        for place, one in enumerate(self._line.files):
            path = one.entry.path
            try:
                content = one.entry.read()
            except UnreadableSubmission as problem:
                result = self._bare(one, "", State.UNREADABLE)
                result.unreadable = str(problem)
                self._record(place, self._key(one, ""), result)
                continue
            digest = hashlib.sha256(content).hexdigest()
            if one.superseded:
                self._rows[place]["plain"] = self._bare(one, digest, State.SUPERSEDED).to_plain()
                continue
            key = self._key(one, digest)
            row = self._store.find(key)
            if row is not None:
                self._rows[place]["row"] = row
                self._watch(self._store.load(row), False)
                continue
            yield place, key, ReadEntry(path, content)

    def _key(self, one: Submitted, digest: str) -> RowKey:
        return RowKey(one.student, str(one.entry.path.absolute()), digest, self._course_digest, self._settings_digest)

    def _bare(self, one: Submitted, digest: str, state: State) -> SubmissionResult:
        return SubmissionResult(
            one.entry.path,
            one.student,
            state,
            digest=digest,
            course_digest=self._course_digest,
        )

    def take(self, place: int, key: RowKey, graded: "concurrent.futures.Future[Graded]") -> None:
        """Record what a file came to.

        Raises:
            GraderBroken, PoolLost, StoreError: see `ClassRun.grade`.
        """
        path = Path(self._rows[place]["path"])
        try:
            result, source, passed = graded.result()
        except (GraderBroken, PoolLost):
            raise
        except GraderError as error:
            result = self._bare(self._line.files[place], key.digest, State.NOT_GRADED)
            result.not_graded[""] = _("Not graded: {error}").format(error=error)
            self._record(place, key, result)
            return
        result = dataclasses.replace(result, student=key.student, habits=self._habits.get(path, {}))
        row = self._record(place, key, result)
        self._unconfirmed = [one for one in self._unconfirmed if one[1] != source or one[2] >= passed]
        self._unconfirmed.append((row, source, passed))

    def _record(self, place: int, key: RowKey, result: SubmissionResult) -> int:
        row = self._store.record(key, result)
        self._rows[place]["row"] = row
        self._watch(result, True)
        return row

    def keep_batch(self) -> None:
        """Write down the batch as far as it came, for the reports."""
        settings = self._settings
        folders = self._course.folders
        plain = {
            "rows": self._rows,
            "absent": self._line.absent,
            "unknown": self._line.unknown,
            "course_name": "" if folders == course_folders() else folders.exercises.absolute().parent.name,
            "course_folder": "" if folders == course_folders() else str(folders.exercises.parent),
            "course_digest": self._course_digest,
            "seed": settings.seed,
            "limits": dataclasses.asdict(settings.limits),
            "all_or_nothing": settings.all_or_nothing,
            "only": None if settings.only is None else sorted(settings.only),
            "points": {name: (e.lesson, e.title, e.points) for name, e in self._course.exercises.items()},
        }
        self._store.keep_batch(plain)


@contextlib.contextmanager
def _pool(order: Order, settings: GradeSettings) -> Iterator[Pool]:
    with contextlib.ExitStack() as stack:
        pool: Pool
        if order.scheduler is None:
            pool = ThreadPool(stack.enter_context(open_grader(order.course, settings)), order.jobs)
        else:
            try:
                from jaxguide.grading.batch.cluster import DaskPool
            except ImportError:
                message = _("Grading on a cluster needs Dask: install `jaxguide[cluster]`.")
                raise GraderError(message) from None
            pool = DaskPool(order.scheduler, order.course, settings, order.jobs)
        stack.callback(pool.close)
        yield pool
