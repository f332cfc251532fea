"""Check a student's own file by the visible checks, in a worker, and note their progress."""

import contextlib
from collections.abc import Collection
from pathlib import Path

from jaxguide.base.files import user_folder
from jaxguide.base.text import _
from jaxguide.code.sameness import answer_id
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import Outline
from jaxguide.course.exercise import Exercise
from jaxguide.course.progress import Progress
from jaxguide.course.verdict import Outcome, about
from jaxguide.grading.batch.grader import Grader, GradeSettings, SubmissionResult, grade
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.intake.plan import lessons_of
from jaxguide.grading.intake.submission import Submission, UnreadableSubmission, read_submission
from jaxguide.grading.workers.usage import Limits

_PROGRAMS_BYTES = 256 * 2**20
# Lies in the folder of programs while a check runs, and stays where its process was killed.
_MARK = "a-check-runs"


def lessons_in(path: Path, course: Outline) -> list[str] | None:
    """Return the lessons that a file answers, which are all that checking it needs; None where it answers none."""
    try:
        return lessons_of(read_submission(path), course) or None
    except (OSError, UnreadableSubmission):  # to be told where it is checked
        return None


def check_file(path: Path, course: Course, progress: Progress, only: Collection[str] | None = None) -> SubmissionResult:
    """Check a notebook or Python file by the visible checks.

    Args:
        path: the file.
        course: the course; its keys are not needed.
        progress: where the outcome is noted.
        only: names of exercises; the others are left out.

    Raises:
        GraderError: workers do not start here.
        FileNotFoundError: there is no such file.
    """
    (found,) = grade([path], course, hidden=False, only=only)
    if found.unreadable is None:
        submission = read_submission(path)
        note(found, submission, course, progress)
        for result in found.results:
            if only and not any(result.name in cell.defines for cell in submission.cells):
                message = _("{file} does not define `{name}`.")
                result.note = message.format(file=path.name, name=result.name)
    return found


def note(found: SubmissionResult, submission: Submission, course: Course, progress: Progress) -> None:
    """Note in a student's progress what a check of their file came to."""
    for result in found.results:
        progress.note(result, _answer_id(found, submission, course.exercise(result.name), course))


class Checker:
    """Checks a student's own files again and again, each time in a new process, forked where that is possible.

    Their code may do there what it may do in their notebook: nothing keeps it from their files. What it compiles is
    kept for the next time in this user's own cache, so that a check costs little more than what changed.

    Args:
        course: the course; its keys are not needed.
        limits: what one exercise may use.
    """

    def __init__(self, course: Course, limits: Limits | None = None):
        self._course, self._limits = course, limits or Limits()
        self._programs = own_programs()
        self._grader: Grader | None = None

    def check(self, path: Path, content: bytes, only: Collection[str]) -> SubmissionResult:
        """Check some exercises of a file whose bytes are these; notes nothing.

        Raises:
            GraderError: workers do not start here, or `stop` was called meanwhile.
        """
        settings = GradeSettings(limits=self._limits, hidden=False, only=frozenset(only))
        grader = self._grader or Grader(self._course, settings, fill=self._programs)
        grader.settings = settings  # to make a grader takes as long as to check
        self._grader = grader
        remove_unfinished(self._programs)
        with contextlib.suppress(OSError):
            (self._programs / _MARK).touch()
        found = grader.grade(ReadEntry(path, content))
        if not any(about(result.verdict).outcome is Outcome.STOPPED for result in found.results):
            with contextlib.suppress(OSError):
                (self._programs / _MARK).unlink()
        return found

    def stop(self) -> None:
        """End the check that runs now, from any thread."""
        grader, self._grader = self._grader, None
        if grader is not None:
            grader.stop()


def own_programs() -> Path:
    """Return the folder of what this user's own code has compiled; the oldest goes where it holds too much."""
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
    """Remove what was written since a check began that did not end by itself.

    JAX writes a program into its place, not beside it: one that was cut off would stay, and warn each time (JAX 0.12).
    """
    with contextlib.suppress(OSError):
        since = (programs / _MARK).stat().st_mtime
        for path in programs.iterdir():
            if path.stat().st_mtime >= since:
                path.unlink()


def _answer_id(found: SubmissionResult, submission: Submission, exercise: Exercise, course: Course) -> str:
    """Return the id of the answer that was judged: in the cell that counts, else the last that was to answer."""
    name = exercise.name
    places = [fact["number"] for fact in found.cells if name in fact["counts"]]
    places = places or [fact["number"] for fact in found.cells if name in fact["answers"]]
    places = places or [cell.number for cell in submission.cells if name in cell.defines]
    sources, given = [cell.source for cell in submission.cells], course.book_of(exercise).given
    return answer_id(sources, name, given, places[-1] - 1 if places else None)
