"""Check a student's own file by the visible checks, in a worker, and note their progress."""

import ast
import hashlib
from collections.abc import Collection
from pathlib import Path

from jaxguide.course.library import Course
from jaxguide.course.progress import Progress
from jaxguide.course.slices import bound_names
from jaxguide.grading.grade import SubmissionResult, grade
from jaxguide.grading.submission import Submission, read_submission
from jaxguide.text import _


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
        for result in found.results:
            progress.note(result, _fingerprint(submission, result.name))
            if only and not any(result.name in cell.defines for cell in submission.cells):
                message = _("{file} does not define `{name}`.")
                result.note = message.format(file=path.name, name=result.name)
    return found


def _fingerprint(submission: Submission, name: str) -> str:
    """Return what tells one answer's code from another's: the statements that bind its name, without comments."""
    trees = [cell.tree for cell in submission.cells if cell.tree]
    try:
        code = [ast.unparse(node) for tree in trees for node in tree.body if name in bound_names(node)]
    except RecursionError:  # nested so deep that it cannot be written out
        code = [cell.source for cell in submission.cells if name in cell.defines]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:12]
