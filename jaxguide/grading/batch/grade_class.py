"""Grade a whole class in one run: each submission once, each saved as soon as it is graded."""

import concurrent.futures
import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.course.books.library import Course
from jaxguide.course.set_up import beside_files
from jaxguide.grading.batch.batch_result import BatchResult, load_batch
from jaxguide.grading.batch.control import GraderBroken
from jaxguide.grading.batch.grader import GradeSettings, course_state_digest, open_grader
from jaxguide.grading.batch.pools import Graded, Pool, PoolLost, ThreadPool
from jaxguide.grading.batch.store import RowKey, Store, StoreError, last_batch_in, settings_digest
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_owners import StudentPattern
from jaxguide.grading.intake.file_search import holds_python, passed_over_below
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.intake.instructor_tables import Override, read_overrides, require_students
from jaxguide.grading.intake.lineup import LineUp, NothingToGrade, Submitted, find_entries, is_in, line_up
from jaxguide.grading.intake.reading import CourseText
from jaxguide.grading.intake.roster import Roster, read_roster
from jaxguide.grading.intake.student_names import ClassList
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.workers.reader import Readers
from jaxguide.grading.workers.worker_process import GraderError

Watch = Callable[[SubmissionResult, bool], None]
"""Called with each result, and with whether it was graded now (True) or found in the store (False)."""

OVERRIDES_NAME = "overrides.csv"


@dataclasses.dataclass(frozen=True)
class Order:
    """What to grade, and how.

    Args:
        paths: files, folders and archives.
        course: the course, with its keys.
        out: the folder for results. If `overrides` is not given, its `overrides.csv` is read.
        settings: how each submission is graded; the paths of the submissions are added to `conceal`.
        jobs: how many submissions to grade at a time; by default the number of cores.
        roster, overrides: the paths of the instructor's tables.
        roster_column: the roster's column of names; by default, it is recognized.
        student_from: a pattern that says where a path contains the student's name.
        scheduler: the address of a Dask scheduler; if given, its workers grade.
        beyond: the exercises that do not count, since only the core does.
    """

    paths: Sequence[Path]
    course: Course
    out: Path
    settings: GradeSettings = dataclasses.field(default_factory=GradeSettings)
    jobs: int | None = None
    roster: Path | None = None
    roster_column: str | None = None
    overrides: Path | None = None
    student_from: str | None = None
    scheduler: str | None = None
    beyond: Collection[str] = ()


class ClassRun:
    """One grading run over a class.

    Args:
        order: what to grade, and how.

    Raises:
        NothingToGrade: no submissions were found.
        PatternError, TableError: the instructor's pattern or one of the tables is not valid.
        FileNotFoundError: a path does not exist.
    """

    def __init__(self, order: Order):
        if order.course.files:  # grading leaves the current folder, see `beside_files`
            paths = [path.absolute() for path in order.paths]
            order = dataclasses.replace(order, paths=paths, out=order.out.absolute())
        self.order = order
        self._before = last_batch_in(order.out)
        course = order.course
        self.roster: Roster | None = None
        if order.roster is not None:
            self.roster = read_roster(order.roster, order.roster_column)
        roster = self.roster.students if self.roster is not None else None
        pattern = StudentPattern(order.student_from) if order.student_from is not None else None
        with contextlib.closing(_readers(order)) as readers:
            entries = find_entries(order.paths, order.out, pattern=pattern, roster=roster)
            if not entries:
                raise NothingToGrade("No notebook (.ipynb) or Python file (.py) was found in the given paths.")
            self.line: LineUp = line_up(
                entries,
                course,
                read=readers.read,
                roots=order.paths,
                known=self._known(),
                pattern=pattern,
                roster=roster,
                lessons=self._lessons(),
            )
            known = [getattr(one, "archive", one.path) for one in entries]
            known += [path for path in (order.roster, order.overrides) if path is not None]
            self.line.passed_over.extend(passed_over_below(order.paths, known, order.out))
            if not self.line.files:
                message = "No file answers any of these lessons: {lessons}."
                raise NothingToGrade(message.format(lessons=", ".join(sorted(self._lessons() or course.books))))
        self.overrides = self._read_overrides()

    @property
    def is_part(self) -> bool:
        """Whether each path lies inside one that was graded before, as one student's folder does."""
        before = {Path(root) for root in self._before.get("roots", ())}
        return all(before.intersection(path.absolute().parents) for path in self.order.paths)

    def _known(self) -> dict[Path, list[str]]:
        """Return the students of each file that was graded before, if this is a part of that class."""
        rows = self._before.get("rows", ()) if self.is_part else ()
        return {Path(row["path"]).absolute(): row["students"] for row in rows if "students" in row}

    def _lessons(self) -> set[str] | None:
        """Return the lessons of which some exercise is graded, None for all."""
        only = self.order.settings.only
        return None if only is None else {self.order.course.exercise(name).lesson for name in only}

    def _read_overrides(self) -> list[Override]:
        path = self.order.overrides
        if path is None:
            path = self.order.out / OVERRIDES_NAME
            if not path.exists():
                return []
        overrides = read_overrides(path, self.order.course)
        require_students(overrides, ClassList(tuple(self.line.people)), path)
        return overrides

    @property
    def count(self) -> int:
        """How many files count for marks."""
        return sum(not one.superseded for one in self.line.files)

    def grade(self, store: Store, watch: Watch = lambda result, is_new: None) -> None:
        """Grade all files without a final result in the store, and save each result at once.

        If this is interrupted, run it again with the same store to continue. Each submission is recorded once; if it
        has to run again, it gets the same inputs.

        Args:
            store: the store for results.
            watch: called with each result.

        Raises:
            GraderBroken: the key's answers do not pass. Results since they last passed are deleted from the store.
            PoolLost: the workers can no longer be used.
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
                    # Keep the queue short: files that are read but not yet graded stay in memory.
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
        """Return the result of the batch so far."""
        return load_batch(store, self.overrides)

    def row_key(self, one: Submitted, digest: str) -> RowKey:
        """Return the key of a file's row in the store.

        Args:
            one: the file.
            digest: SHA-256 of its bytes, or '' if they cannot be read.
        """
        path = str(one.entry.path.absolute())
        lessons = one.lessons.intersection(self._lessons() or self.order.course.books)
        state = course_state_digest(self.order.course, lessons or None)
        return RowKey(one.student, path, digest, state, settings_digest(self.order.settings))

    def _settings(self) -> GradeSettings:
        settings = self.order.settings
        # If a folder contains Python itself, like a clone with a virtual environment, hide its submissions one by one.
        folders = [path for path in self.order.paths if path.is_dir() and not holds_python(path)]
        # For files in an archive, hide the archive.
        paths = {getattr(one.entry, "archive", one.entry.path): None for one in self.line.files}
        single = [path for path in paths if not any(is_in(path, folder) for folder in folders)]
        conceal = (*settings.conceal, self.order.out, *folders, *single)
        return dataclasses.replace(settings, conceal=conceal)


class _Records:
    """Save each file's result in the store and in the batch's list of rows.

    Args:
        run: the grading run.
        store: the store for results.
        course_digest: the `course_state_digest` of the pool that grades.
        watch: called with each result.
    """

    def __init__(self, run: ClassRun, store: Store, course_digest: str, watch: Watch):
        self._run, self._line, self._course, self._settings = run, run.line, run.order.course, run.order.settings
        self._store, self._course_digest, self._watch = store, course_digest, watch
        self._rows: list[dict[str, Any]] = [
            {
                "students": f.students,
                "replaced": sorted(f.replaced),
                "counts": {student: sorted(exercises) for student, exercises in f.counts.items()},
                "path": str(f.entry.path),
            }
            for f in self._line.files
        ]
        self._unconfirmed: list[tuple[int, str, int]] = []
        last = store.last_batch()
        only = None if self._settings.only is None else sorted(self._settings.only)
        is_part = last is not None and last["only"] == only and run.is_part
        self._last = last if is_part else None
        self._before = _unlike(last, self._settings.only)

    def forget_unconfirmed(self) -> None:
        """Delete the results since the key's answers last passed."""
        forgotten = {row for row, _source, _passed in self._unconfirmed}
        self._store.forget(sorted(forgotten))
        for row in self._rows:
            if row.get("row") in forgotten:
                del row["row"]

    def to_grade(self) -> Iterator[tuple[int, RowKey, ReadEntry]]:
        """Yield each file that needs grading; save the results of the others at once."""
        for place, one in enumerate(self._line.files):
            path = one.entry.path
            try:
                content = one.entry.read()
            except UnreadableSubmission as problem:
                result = self._bare(one, "", State.UNREADABLE)
                result.unreadable = str(problem)
                self._record(place, self._run.row_key(one, ""), result)
                continue
            digest = hashlib.sha256(content).hexdigest()
            if one.superseded:
                self._rows[place]["plain"] = self._bare(one, digest, State.SUPERSEDED).to_plain()
                continue
            key = self._run.row_key(one, digest)
            found = self._finished(key)
            if found is not None:
                self._rows[place]["row"], before = found
                self._watch(before, False)
                continue
            yield place, key, ReadEntry(path, content)

    def _bare(self, one: Submitted, digest: str, state: State) -> SubmissionResult:
        return SubmissionResult(
            one.entry.path,
            one.student,
            state,
            digest=digest,
            course_digest=self._course_digest,
        )

    def take(self, place: int, key: RowKey, graded: "concurrent.futures.Future[Graded]") -> None:
        """Record the result of a file.

        Raises:
            GraderBroken, PoolLost, StoreError: see `ClassRun.grade`.
        """
        try:
            result, source, passed = graded.result()
        except (GraderBroken, PoolLost):
            raise
        except GraderError as error:
            self._record(place, key, self._failed(place, key, str(error)))
            return
        result = dataclasses.replace(result, student=key.student)
        row = self._record(place, key, result)
        self._unconfirmed = [one for one in self._unconfirmed if one[1] != source or one[2] >= passed]
        self._unconfirmed.append((row, source, passed))

    def _finished(self, key: RowKey) -> tuple[int, SubmissionResult] | None:
        """Return a file's row and result, or None if it must be graded, as also if its result cannot be read."""
        row = self._store.find(key)
        if row is None:
            return None
        try:
            return row, self._store.load(row)
        except (TypeError, ValueError, KeyError, AttributeError):
            return None

    def _failed(self, place: int, key: RowKey, why: str) -> SubmissionResult:
        result = self._bare(self._line.files[place], key.digest, State.NOT_GRADED)
        result.not_graded[""] = f"Not graded: {why}"
        return result

    def _record(self, place: int, key: RowKey, result: SubmissionResult) -> int:
        try:
            row = self._store.record(key, result)
        except (TypeError, ValueError, RecursionError) as error:
            # Not JSON. Whatever one submission leads to, the others must get their rows.
            result = self._failed(place, key, f"{type(error).__name__}: {error}")
            row = self._store.record(key, result)
        self._rows[place]["row"] = row
        self._watch(result, True)
        return row

    def keep_batch(self) -> None:
        """Save the state of the batch so far, for the reports."""
        settings = self._settings
        folders = self._course.folders
        is_bundled = folders.is_bundled
        last_beyond = set((self._before or {}).get("beyond", ()))
        plain = {
            "roots": [str(path.absolute()) for path in self._run.order.paths],
            "rows": self._rows,
            "absent": self._line.absent,
            "elsewhere": self._line.elsewhere,
            "unknown": self._line.unknown,
            "passed_over": [str(path) for path in self._line.passed_over],
            "ids": {person.name: person.ids for person in self._line.people if person.ids},
            "course_name": "" if is_bundled else self._course.title,
            "course_folder": "" if is_bundled else str(folders.top),
            "course_digest": self._course_digest,
            "seed": settings.seed,
            "settings": settings_digest(settings),
            "limits": dataclasses.asdict(settings.limits),
            "all_or_nothing": settings.all_or_nothing,
            "only": None if settings.only is None else sorted(settings.only),
            "beyond": sorted(self._run.order.beyond or last_beyond.difference(settings.only or ())),
            "before": self._before,
            "points": {name: (e.lesson, e.title, e.points) for name, e in self._course.exercises.items()},
        }
        self._store.keep_batch(plain if self._last is None else _with_others(plain, self._last))


def _with_others(plain: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """Return a batch of some students' files with the other students of the batch before."""
    anew = {student for row in plain["rows"] for student in row["students"]}
    rows = [
        {**row, "replaced": sorted({*row["replaced"], *anew.intersection(row["students"])})} for row in last["rows"]
    ]
    rows = [row for row in rows if not anew.issuperset(row["students"])]
    sent = anew.union(student for row in rows for student in row["students"])
    return {
        **plain,
        "roots": last["roots"],
        "rows": [*rows, *plain["rows"]],
        "absent": [name for name in dict.fromkeys([*last["absent"], *plain["absent"]]) if name not in sent],
        "elsewhere": {**last.get("elsewhere", {}), **plain["elsewhere"]},
        "unknown": list(dict.fromkeys([*last["unknown"], *plain["unknown"]])),
        "passed_over": list(dict.fromkeys([*last["passed_over"], *plain["passed_over"]])),
        "ids": {**last["ids"], **plain["ids"]},
        "before": last["before"],
    }


def _unlike(batch: dict[str, Any] | None, only: Collection[str] | None) -> dict[str, Any] | None:
    """Return the last of a batch and those before it that has other marks than those of these exercises, or None."""
    if only is None:
        return None
    while batch is not None and batch["only"] is not None and set(batch["only"]) <= set(only):
        batch = batch.get("before")
    return batch


def _readers(order: Order) -> Readers:
    hidden = (order.course.folders.solutions.absolute(), order.out.absolute())
    return Readers(lambda: CourseText.of(order.course), hidden, find_isolation())


@contextlib.contextmanager
def _pool(order: Order, settings: GradeSettings) -> Iterator[Pool]:
    with contextlib.ExitStack() as stack:
        pool: Pool
        if order.scheduler is None:
            stack.enter_context(beside_files(order.course.files))
            grader = stack.enter_context(open_grader(order.course, settings))
            pool = ThreadPool(grader, order.jobs)
        else:
            try:
                from jaxguide.grading.batch.cluster import DaskPool
            except ImportError:
                message = "Grading on a cluster needs Dask. Install `jaxguide[cluster]`."
                raise GraderError(message) from None
            pool = DaskPool(order.scheduler, order.course, settings, order.jobs)
        stack.callback(pool.close)
        yield pool
