"""The commands for students about the course: `list`, `next` and `progress`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxguide.base.text import _
from jaxguide.cli.common import complete_lesson, course_option, need, read_outline, workspace_of

if TYPE_CHECKING:
    from jaxguide.course.books.outline import Outline
    from jaxguide.student.answers_in_files import FileAnswers
    from jaxguide.student.place import Place


@click.command("list", short_help="List lessons and exercises, and which are done.")
@click.argument("lesson", required=False, shell_complete=complete_lesson)
@click.option("--all", "is_all", is_flag=True, help="List the exercises of every lesson.")
@course_option
def list_(lesson: str | None, is_all: bool, folder: Path | None) -> None:
    """List all lessons, with the exercises of the lesson you are working on; or list the exercises of LESSON.

    \b
    Example: jaxguide list
             jaxguide list random_numbers
    """
    course = read_outline(folder)
    named = [need(course.lesson, lesson)] if lesson is not None else []
    from jaxguide.student.session_texts import ExerciseList, console

    place, _files = _open(course)
    if is_all:
        named = list(course.books.values())
    here = place.current()
    opened = named or ([course.book_of(here)] if here is not None else [])
    console().print(ExerciseList(place, opened, [] if lesson is not None else list(course.books.values())))


@click.command("next", short_help="Show the next exercise.")
@course_option
def next_(folder: Path | None) -> None:
    """Show the next exercise that is not done, and where to answer it.

    \b
    Example: jaxguide next
    """
    from jaxguide.student.answers_in_files import home_of
    from jaxguide.student.screen import where
    from jaxguide.student.session_texts import ExerciseText, console

    place, files = _open(read_outline(folder))
    exercise = place.current()
    if exercise is None:
        click.echo(_("All {count} exercises are done.").format(count=len(place.exercises)))
        return
    homes, workspace = home_of(exercise, files), workspace_of(place.course).resolve()
    text = where(exercise, homes, workspace) if homes else ""
    console().print(ExerciseText(exercise, place.course.book_of(exercise), text))


@click.command(short_help="Show your progress.")
@course_option
def progress(folder: Path | None) -> None:
    """Show your progress: exercises, points and hints of each lesson, and what to do next.

    \b
    Example: jaxguide progress
    """
    from jaxguide.student.session_texts import ProgressText, console

    place, _files = _open(read_outline(folder))
    exercise = place.current()
    said = _("All done.")
    if exercise is not None:
        said = _("Next: {name} ({lesson}). `jaxguide next` shows it.")
        said = said.format(name=exercise.name, lesson=exercise.lesson)
    console().print(ProgressText(place, list(place.course.books.values()), said))


def _open(course: "Outline") -> "tuple[Place, list[FileAnswers]]":
    """Return the student's place in a course, and their files."""
    from jaxguide.course.progress import PROGRESS_FILE_NAME, Progress
    from jaxguide.student.answers_in_files import read_all
    from jaxguide.student.place import Place, topics_of

    workspace = workspace_of(course)
    files = read_all(workspace.resolve(), course)
    if not files and not (workspace / PROGRESS_FILE_NAME).is_file():
        said = _("{folder} contains no lessons and no progress. `jaxguide watch` creates a workspace in it.")
        click.echo(said.format(folder=workspace.resolve()), err=True)
    return Place(course, Progress(workspace), topics_of(files, course)), files
