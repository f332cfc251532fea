"""Grade a whole class as one command asks for it: find, line up, grade, gather."""

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.books.library import Course
from jaxguide.grading.batch.batch_result import BatchResult, load_batch
from jaxguide.grading.batch.control import controlled
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.pools import Pool, ThreadPool
from jaxguide.grading.batch.run_batch import Watch, grade_batch
from jaxguide.grading.batch.store import Store
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.intake.archives import ArchivedEntry, archive_around, expand, find_archives
from jaxguide.grading.intake.exported import student_on_disk, told_apart
from jaxguide.grading.intake.file_to_grade import Entry, FileEntry
from jaxguide.grading.intake.files import find_submissions, holds_python
from jaxguide.grading.intake.lineup import LineUp, line_up
from jaxguide.grading.intake.others import only_others
from jaxguide.grading.intake.roster import Override, TableError, read_overrides, read_roster, unknown_student
from jaxguide.grading.intake.students import StudentPattern
from jaxguide.grading.workers.remote import GraderError

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


class NothingToGrade(ValueError):
    """No path holds a submission."""


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

    def grade(self, store: Store, watch: Watch) -> None:
        """Grade what has no result in the store yet; see `grade_batch`."""
        settings = self._settings()
        with _pool(self.order, settings) as pool:
            grade_batch(self.line, self.order.course, settings, store, pool, watch)

    def result(self, store: Store) -> BatchResult:
        """Gather what it came to, as far as it came."""
        return load_batch(store, self.overrides)

    def _settings(self) -> GradeSettings:
        settings = self.order.settings
        # Where Python itself lies below a folder, as in a clone, its files are hidden one by one.
        folders = [path for path in self.order.paths if path.is_dir() and not holds_python(path)]
        # Of files in an archive it is the archive that no worker may see.
        paths = {getattr(one.entry, "archive", one.entry.path): None for one in self.line.files}
        single = [path for path in paths if not any(_is_in(path, folder) for folder in folders)]
        conceal = (*settings.conceal, self.order.out, *folders, *single)
        return dataclasses.replace(settings, conceal=conceal)


def _is_in(path: Path, folder: Path) -> bool:
    return path.absolute().is_relative_to(folder.absolute())


def find_entries(
    paths: Sequence[Path], out: Path, *, pattern: StudentPattern | None = None, roster: Collection[str] = ()
) -> list[Entry]:
    """Return all that is to be graded among and below `paths`; never what lies among the results.

    Of a student who handed in only files of other kinds there is one, which cannot be read.

    Args:
        paths, out: as in `Order`.
        pattern, roster: whose files of other kinds are.

    Raises:
        FileNotFoundError: one of the paths is not there.
        NothingToGrade: there is no such file in an archive.
    """
    inside = {path: archive for path in paths if (archive := archive_around(path)) is not None}
    on_disk = [path for path in paths if path not in inside]
    archives = [path for path in find_archives(on_disk) if not _is_in(path, out)]
    files = [path for path in find_submissions(on_disk) if not _is_in(path, out) and path not in archives]
    entries: list[FileEntry | ArchivedEntry] = [
        FileEntry(path, *(student_on_disk(path) or (None, ""))) for path in files
    ]
    entries += expand(archives)
    entries += [_entry_in(archive, path) for path, archive in inside.items() if archive not in archives]
    entries += only_others(on_disk, entries, out, pattern=pattern, roster=roster)
    students = told_apart([(entry.student, entry.identity) for entry in entries])
    return [dataclasses.replace(entry, student=name) for entry, name in zip(entries, students, strict=True)]


def _entry_in(archive: Path, path: Path) -> ArchivedEntry:
    found = next((entry for entry in expand([archive]) if entry.path == path), None)
    if found is None:
        message = _("There is no submission `{inside}` in `{archive}`.")
        raise NothingToGrade(message.format(inside=path.relative_to(archive), archive=archive))
    return found


@contextlib.contextmanager
def _pool(order: Order, settings: GradeSettings) -> Iterator[Pool]:
    with contextlib.ExitStack() as stack:
        pool: Pool
        if order.scheduler is None:
            pool = ThreadPool(stack.enter_context(controlled(order.course, settings)), order.jobs)
        else:
            try:
                from jaxguide.grading.batch.cluster import DaskPool
            except ImportError:
                message = _("Grading on a cluster needs Dask: install `jaxguide[cluster]`.")
                raise GraderError(message) from None
            pool = DaskPool(order.scheduler, order.course, settings, order.jobs)
        stack.callback(pool.close)
        yield pool


def is_all_graded(batch: BatchResult) -> bool:
    """Return whether every file that counts has a mark for every exercise; who sent nothing is no missing mark."""
    return all(one.is_complete or one.state is State.ABSENT for one in batch.counted)
