"""Grade a whole class in one run: each submission once, each saved as soon as it is graded."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxguide.course.books.library import Course
from jaxguide.course.set_up import beside_files
from jaxguide.grading.batch.batch_result import BatchResult, load_batch, with_earlier
from jaxguide.grading.batch.control import GraderBroken, GraderLost
from jaxguide.grading.batch.grader import (
    Graded,
    Grader,
    GradeSettings,
    cores,
    course_state_digest,
    grading_threads,
    open_grader,
)
from jaxguide.grading.batch.store import Store, StoreError, last_batch_in, row_key, settings_digest
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_owners import StudentPattern
from jaxguide.grading.intake.file_search import (
    NothingToGrade,
    find_entries,
    holds_python,
    is_in,
    passed_over_below,
)
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.instructor_tables import Override, read_overrides, read_roster, require_students
from jaxguide.grading.intake.lineup import LineUp, Submitted, line_up
from jaxguide.grading.intake.reading import CourseText
from jaxguide.grading.intake.student_names import ClassList
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.reader import Readers
from jaxguide.grading.workers.worker_process import GraderError, Surroundings

if TYPE_CHECKING:
    from jaxguide.grading.batch.cluster import ClusterGrader

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
        self.roster = roster = read_roster(order.roster, order.roster_column) if order.roster is not None else None
        pattern = StudentPattern(order.student_from) if order.student_from is not None else None
        hidden = (course.folders.solutions.absolute(), order.out.absolute())
        with contextlib.closing(Readers(lambda: CourseText.of(course), Surroundings(hidden))) as readers:
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
            known = [one.file for one in entries]
            known += [path for path in (order.roster, order.overrides) if path is not None]
            self.line.passed_over.extend(passed_over_below(order.paths, known, order.out))
            if not self.line.files:
                lessons = ", ".join(sorted(self._lessons() or course.books))
                raise NothingToGrade(f"No file answers any of these lessons: {lessons}.")
        self.overrides = self._read_overrides()
        # While it is graded: what is recorded of each file, and the keys of the results that no control has confirmed,
        # each with the grader that gave it, and how many controls that grader had passed before.
        self._rows: list[dict[str, Any]] = []
        self._unconfirmed: list[tuple[str, str, int]] = []

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
            GraderLost: the workers can no longer be used.
            StoreError: the disk is full, or the store cannot be written.
        """
        self._store, self._watch = store, watch
        only = None if self.order.settings.only is None else sorted(self.order.settings.only)
        self._rows = [
            {
                "students": f.students,
                "counts": {student: sorted(exercises) for student, exercises in f.counts.items()},
                "path": str(f.entry.path),
                "digest": "",
                "only": only,
                "without": {},
            }
            for f in self.line.files
        ]
        self._unconfirmed = []
        last = store.last_batch()
        with contextlib.ExitStack() as stack:
            grader, jobs = self._open_grader(stack)
            self._course_digest = grader.course_digest
            pool = stack.enter_context(grading_threads(jobs, grader.stop))
            pending: dict[Future[Graded], tuple[int, str]] = {}
            try:
                for place, key, entry in self._to_grade():
                    # Keep the queue short: files that are read but not yet graded stay in memory.
                    while len(pending) >= 2 * jobs:
                        self._take(pending)
                    pending[pool.submit(grader.grade_controlled, entry)] = place, key
                while pending:
                    self._take(pending)
            except BaseException as error:
                if isinstance(error, GraderBroken):
                    self._forget_unconfirmed()
                with contextlib.suppress(StoreError):  # what ended the run is said
                    store.keep_batch(self._description(last))
                raise
            store.keep_batch(self._description(last))

    def result(self, store: Store, before: BatchResult | None = None) -> BatchResult:
        """Return the result of the batch so far; `before` is what the last reports were written from."""
        return load_batch(store, self.overrides, before)

    def _key(self, one: Submitted, digest: str = "") -> str:
        """Return the key of a file's result in the store."""
        lessons = one.lessons.intersection(self._lessons() or self.order.course.books)
        state = course_state_digest(self.order.course, lessons or None)
        return row_key(one.student, one.entry.path, digest, state, settings_digest(self.order.settings))

    def _open_grader(self, stack: contextlib.ExitStack) -> "tuple[Grader | ClusterGrader, int]":
        """Return the grader, which `stack` closes, and how many submissions it grades at a time."""
        order, settings = self.order, self._settings()
        if order.scheduler is None:
            stack.enter_context(beside_files(order.course.files))
            return stack.enter_context(open_grader(order.course, settings)), order.jobs or cores()
        try:
            from jaxguide.grading.batch.cluster import ClusterGrader
        except ImportError:
            raise GraderError("Grading on a cluster needs Dask. Install `jaxguide[cluster]`.") from None
        grader = stack.enter_context(contextlib.closing(ClusterGrader(order.scheduler, order.course, settings)))
        return grader, order.jobs or grader.threads

    def _settings(self) -> GradeSettings:
        settings = self.order.settings
        # If a folder contains Python itself, like a clone with a virtual environment, hide its submissions one by one.
        folders = [path for path in self.order.paths if path.is_dir() and not holds_python(path)]
        # For files in an archive, hide the archive.
        paths = {one.entry.file: None for one in self.line.files}
        single = [path for path in paths if not any(is_in(path, folder) for folder in folders)]
        conceal = (*settings.conceal, self.order.out, *folders, *single)
        return dataclasses.replace(settings, conceal=conceal)

    def _to_grade(self) -> Iterator[tuple[int, str, Entry]]:
        """Yield each file that needs grading; save the results of the others at once."""
        for place, one in enumerate(self.line.files):
            path = one.entry.path
            try:
                content = one.entry.read()
            except UnreadableSubmission as problem:
                unreadable = self._bare(place, State.UNREADABLE, unreadable=str(problem))
                self._record(place, self._key(one), unreadable)
                continue
            self._rows[place]["digest"] = digest = hashlib.sha256(content).hexdigest()
            if one.superseded:
                continue
            key = self._key(one, digest)
            found = self._store.find(key)
            if found is None:
                yield place, key, Entry(path, content)
            else:
                self._rows[place]["row"] = key
                self._watch(found, False)

    def _take(self, pending: "dict[Future[Graded], tuple[int, str]]") -> None:
        """Record the results of the files that were graded first, and remove them from `pending`.

        Raises:
            GraderBroken, GraderLost, StoreError: see `grade`.
        """
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            place, key = pending.pop(future)
            try:
                result, passed, source = future.result()
            except (GraderBroken, GraderLost):
                raise
            except GraderError as error:
                self._record(place, key, self._failed(place, str(error)))
                continue
            self._record(place, key, dataclasses.replace(result, student=self.line.files[place].student))
            self._unconfirmed = [one for one in self._unconfirmed if one[1] != source or one[2] >= passed]
            self._unconfirmed.append((key, source, passed))

    def _record(self, place: int, key: str, result: SubmissionResult) -> None:
        try:
            self._store.record(key, result)
        except (TypeError, ValueError, RecursionError) as error:
            # Not JSON. Whatever one submission leads to, the others must get their rows.
            result = self._failed(place, f"{type(error).__name__}: {error}")
            self._store.record(key, result)
        self._rows[place]["row"] = key
        self._watch(result, True)

    def _failed(self, place: int, why: str) -> SubmissionResult:
        return self._bare(place, State.NOT_GRADED, not_graded={"": f"Not graded: {why}"})

    def _bare(self, place: int, state: State, **more: Any) -> SubmissionResult:
        """Return the result of a file without marks."""
        one, more["digest"] = self.line.files[place], self._rows[place]["digest"]
        return SubmissionResult(one.entry.path, one.student, state, course_digest=self._course_digest, **more)

    def _forget_unconfirmed(self) -> None:
        """Delete the results since the key's answers last passed."""
        forgotten = {key for key, _source, _passed in self._unconfirmed}
        self._store.forget(forgotten)
        for row in self._rows:
            if row.get("row") in forgotten:
                del row["row"]

    def _description(self, last: dict[str, Any] | None) -> dict[str, Any]:
        """Return what reports need of this run besides the results, together with the run before it."""
        settings, course, line = self.order.settings, self.order.course, self.line
        only = None if settings.only is None else sorted(settings.only)
        plain = {
            "roots": [str(path.absolute()) for path in self.order.paths],
            "rows": self._rows,
            "absent": line.absent,
            "elsewhere": line.elsewhere,
            "unknown": line.unknown,
            "passed_over": [str(path) for path in line.passed_over],
            "ids": {person.name: person.ids for person in line.people if person.ids},
            "course_name": "" if course.folders.is_bundled else course.title,
            "course_folder": "" if course.folders.is_bundled else str(course.folders.top),
            "course_digest": self._course_digest,
            "seed": settings.seed,
            "settings": settings_digest(settings),
            "limits": dataclasses.asdict(settings.limits),
            "all_or_nothing": settings.all_or_nothing,
            "only": only,
            "beyond": sorted(self.order.beyond),
            "points": {name: (e.lesson, e.title, e.points) for name, e in course.exercises.items()},
        }
        return plain if last is None else with_earlier(plain, last, last["only"] == only and self.is_part)
