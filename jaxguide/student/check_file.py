"""Run the visible checks on a student's own file, in a worker, and record their progress."""

import ast
import contextlib
from collections.abc import Collection
from pathlib import Path

from jaxguide.base.files import user_folder
from jaxguide.code.sameness import answer_id, given_in
from jaxguide.course.books.book import run_answer
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import Outline
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.judge import failure_as_given
from jaxguide.course.limits import Limits
from jaxguide.course.progress import Progress
from jaxguide.course.set_up import beside_files
from jaxguide.course.verdict import CheckResult, Outcome, Verdict, about
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_owners import students_of
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.reading import lessons_of
from jaxguide.grading.intake.submission import Submission, UnreadableSubmission, read_submission
from jaxguide.grading.workers.worker_process import GraderError

_PROGRAMS_BYTES = 256 * 2**20
# A file in the folder of programs while a check runs; it stays there if the process is killed.
_MARK = "a-check-runs"


def lessons_in(path: Path, course: Outline) -> list[str] | None:
    """Return the lessons that a file answers or starts, all that is needed to check it, or None if it answers none."""
    try:
        submission = read_submission(path)
        found = lessons_of(submission, course.names)
        return [*found, *submission.topics()] if found else None
    except (OSError, UnreadableSubmission):  # reported when the file is checked
        return None


def check_file(path: Path, course: Course, progress: Progress, only: Collection[str] | None = None) -> SubmissionResult:
    """Run the visible checks on a notebook or Python file.

    Args:
        path: the file.
        course: the course; its keys are not needed.
        progress: where the outcome is recorded.
        only: the names of the exercises to check; by default all.

    Raises:
        GraderError: workers do not start on this machine.
    """
    if course.files:  # the block leaves the current folder
        path = path.absolute()
    asked = None if only is None else frozenset(only)
    settings = GradeSettings(limits=course.settings.limits, hidden=False, only=asked, conceal=(path,))
    with beside_files(course.files), contextlib.closing(Grader(course, settings)) as grader:
        found = grader.grade(path)
    (found.student,) = students_of([path], course)
    if found.unreadable is None:
        submission = read_submission(path)
        note(found, submission, course, progress)
        for result in found.results if only else ():
            if not any(result.name in cell.defines for cell in submission.cells):
                result.note = f"{path.name} does not define `{result.name}`."
            elif result.verdict is Verdict.NOT_ATTEMPTED:
                result.as_given = _failure_as_given(course.exercise(result.name), course, submission)
    return found


def _failure_as_given(exercise: Exercise, course: Course, submission: Submission) -> CheckResult | None:
    """Return the check that the book's own starter fails; it is not the student's code, so it needs no worker."""
    lines = [line for cell in submission.cells for line in _lines_of(exercise.name, cell.tree)]
    (line,) = _lines_of(exercise.name, ast.parse(exercise.cell_source))
    # Failures quote lines of the student's file.
    source = "\n" * (lines[-1] - line if lines else 0) + exercise.cell_source
    names = run_answer(course.book_of(exercise), source)
    return failure_as_given(exercise, LocalAnswer(exercise.name, names[exercise.name], names))


def _lines_of(name: str, tree: ast.Module | None) -> list[int]:
    found = tree.body if tree is not None else []
    return [node.lineno for node in found if isinstance(node, ast.FunctionDef) and node.name == name]


def note(found: SubmissionResult, submission: Submission, course: Course, progress: Progress) -> None:
    """Record the results of checking a student's file in their progress."""
    for result in found.results:
        progress.note(result, _answer_id(found, submission, course.exercise(result.name), course))


class Checker:
    """Checks a student's own files repeatedly, each time in a new process, forked if possible.

    Their code may do what it may do in their notebook; in particular, it can reach their files. The programs that it
    compiles are cached for this user, so the next check compiles little more than what changed.

    Args:
        course: the course; its keys are not needed.
        limits: the limits for one exercise; by default those of the course.
    """

    def __init__(self, course: Course, limits: Limits | None = None):
        self._course, self._limits = course, limits or course.settings.limits
        self._programs = own_programs()
        self._grader: Grader | None = None
        self._stops = 0

    def check(self, path: Path, content: bytes, only: Collection[str]) -> SubmissionResult:
        """Check some exercises of a file with this content, without recording progress.

        Raises:
            GraderError: workers do not start on this machine, or `stop` was called during the check.
        """
        stops = self._stops
        settings = GradeSettings(limits=self._limits, hidden=False, only=frozenset(only))
        grader = self._grader or Grader(self._course, settings, fill=self._programs)
        grader.settings = settings  # making a grader takes as long as a check
        self._grader = grader
        if stops != self._stops:  # while the grader was made
            raise GraderError("The check was stopped.")
        remove_unfinished(self._programs)
        with contextlib.suppress(OSError):
            (self._programs / _MARK).touch()
        found = grader.grade(Entry(path, content))
        if not any(about(result.verdict).outcome is Outcome.STOPPED for result in found.results):
            with contextlib.suppress(OSError):
                (self._programs / _MARK).unlink()
        return found

    def stop(self) -> None:
        """Stop the running check; any thread may call this."""
        self._stops += 1
        grader, self._grader = self._grader, None
        if grader is not None:
            grader.stop()


def own_programs() -> Path:
    """Return the folder of the programs compiled from this user's code; if it is too large, delete the oldest."""
    folder = user_folder() / "own"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = sorted(((path.stat(), path) for path in folder.iterdir()), key=lambda pair: pair[0].st_mtime)
        size = sum(about.st_size for about, _path in files)
        for about, path in files if size > _PROGRAMS_BYTES else ():
            path.unlink()
            size -= about.st_size
            if size < _PROGRAMS_BYTES / 2:
                break
    return folder


def remove_unfinished(programs: Path) -> None:
    """Delete the programs written during a check that was stopped.

    JAX writes a program straight to its final path, so one that was cut off would stay and cause a warning each time
    (JAX 0.12).
    """
    with contextlib.suppress(OSError):
        since = (programs / _MARK).stat().st_mtime
        for path in programs.iterdir():
            if path.stat().st_mtime >= since:
                path.unlink()


def _answer_id(found: SubmissionResult, submission: Submission, exercise: Exercise, course: Course) -> str:
    """Return the id of the judged answer: that of the cell that counts, or else of the last cell that has one."""
    name = exercise.name
    places = [cell.number for cell in found.cells if name in cell.counts]
    places = places or [cell.number for cell in found.cells if name in cell.answers]
    places = places or [cell.number for cell in submission.cells if name in cell.defines]
    sources, given = [cell.source for cell in submission.cells], course.book_of(exercise).given
    return answer_id(sources, name, given, places[-1] - 1 if places else None, given_in(exercise).names)
