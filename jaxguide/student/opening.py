"""Open a workspace for a session in the terminal, and run it."""

import contextlib
import sys
from pathlib import Path

from jaxguide.base.text import _, plural
from jaxguide.course.books.library import Course
from jaxguide.course.progress import FILE_NAME, Progress
from jaxguide.grading.intake.submission import UnreadableSubmission, is_submission
from jaxguide.grading.workers.usage import Limits
from jaxguide.student.answers_in_files import read_all, read_answers
from jaxguide.student.check_file import Checker
from jaxguide.student.keyboard import Keyboard
from jaxguide.student.saves import Saves
from jaxguide.student.watching import Pressed, Saved, Watching
from jaxguide.student.workspace import DEFAULT_FOLDER, find_workspace, lay_workspace


class NoWorkspace(Exception):
    """A folder is no workspace; the message says what to type."""


def usual_folder(course: Course) -> Path:
    """Return the folder to watch where none is named: the workspace that there is, or the one to lay."""
    found = find_workspace(course.books)
    if found != Path() or _is_begun(found):
        return found
    names = course.exercises.keys()
    for path in sorted(found.iterdir()):
        with contextlib.suppress(UnreadableSubmission, OSError):
            if is_submission(path) and names & read_answers(path, course).places.keys():
                return found
    return Path(DEFAULT_FOLDER)


def _is_begun(folder: Path) -> bool:
    return (folder / FILE_NAME).is_file()


def open_workspace(folder: Path, course: Course) -> Path:
    """Return a workspace's whole path; a folder that is not there, or is empty, gets the lessons.

    Raises:
        NoWorkspace: it cannot be made, or holds other things and no lesson.
    """
    folder = folder.resolve()
    notebooks = course.places.notebooks
    try:
        if not folder.exists() or not any(folder.iterdir()):
            if not notebooks.is_dir():
                message = _("There is no lesson to put into {folder}: {notebooks} is missing.")
                raise NoWorkspace(message.format(folder=folder, notebooks=notebooks))
            laid = lay_workspace(folder, notebooks)
            words = plural(
                "{count} file put into {folder}.", "{count} files put into {folder}.", len(laid), folder=folder
            )
            print(words)
    except OSError as error:
        raise NoWorkspace(_("The workspace could not be laid: {error}.").format(error=error)) from None
    if not read_all(folder, course):
        message = _("No file in {folder} has an exercise. `jaxguide watch workspace` makes a folder with the lessons.")
        raise NoWorkspace(message.format(folder=folder))
    return folder


def watch(course: Course, folder: Path, cpu_limit_s: float) -> None:
    """Run a session until the student ends it; without a terminal, without keys."""
    has_keys = sys.stdin.isatty() and sys.stdout.isatty()
    watching = Watching(course, folder, Progress(folder), Checker(course, Limits(cpu_s=cpu_limit_s)), has_keys)
    words = _("Watching {folder}. Save a file, and what changed in it is checked.")
    watching.screen.say(words.format(folder=folder))
    with contextlib.ExitStack() as stack:
        stack.callback(watching.stop)
        stack.enter_context(Saves(folder, course, lambda paths: watching.tell(Saved(paths))))
        if has_keys:
            stack.enter_context(Keyboard(lambda key: watching.tell(Pressed(key))))
        watching.run()
