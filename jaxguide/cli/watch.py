"""The command `watch`: check answers whenever their file is saved."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxguide.base.text import plural
from jaxguide.cli.common import (
    begin_with_zygote,
    course_meant,
    read_course,
    start_zygote,
    stopped_by_signals,
    students_course_option,
    workspace_of,
)

if TYPE_CHECKING:
    from jaxguide.course.books.library import Course

_CPU_LIMIT_S = 20.0


@click.command(short_help="Check your answers whenever you save them.")
@students_course_option
@click.option(
    "--cpu-limit",
    "cpu_limit_s",
    type=click.FloatRange(min=0, min_open=True),
    default=_CPU_LIMIT_S,
    show_default=True,
    metavar="SECONDS",
    help="CPU time that one exercise may use before it is stopped.",
)
@click.argument("workspace", required=False, metavar="[FOLDER]", type=click.Path(file_okay=False, path_type=Path))
def watch(folder: Path | None, cpu_limit_s: float, workspace: Path | None) -> None:
    """Show the next exercise, and check your answers whenever you save a notebook or .py file in FOLDER.

    FOLDER is your workspace. If it does not exist, it is created with the lessons in it.

    Each check runs in its own process, so code that crashes or never ends affects only that check.

    \b
    Example: jaxguide watch
             jaxguide watch workspace --cpu-limit 5
    """
    begin_with_zygote()
    from jaxguide.student import watching

    folder = course_meant(folder, workspace=workspace)

    if not start_zygote():
        click.echo("On this system, each check starts a new Python, which takes a few seconds.")
    click.echo("Loading the lessons ...")
    course = read_course(folder, keys=False)
    at = open_workspace(workspace or usual_folder(course), course)
    with contextlib.suppress(KeyboardInterrupt), stopped_by_signals():
        watching.run_session(course, at, cpu_limit_s)
    sys.exit(0)


def usual_folder(course: "Course") -> Path:
    """Return the folder to watch by default: the existing workspace, or the one to create."""
    from jaxguide.course.progress import has_progress
    from jaxguide.student.answers_in_files import read_all
    from jaxguide.student.workspace import DEFAULT_FOLDER

    found = workspace_of(course)
    if found != Path() or has_progress(found, course.identity):
        return found
    here = found.resolve()
    return found if any(file.path.parent == here for file in read_all(here, course)) else Path(DEFAULT_FOLDER)


def open_workspace(folder: Path, course: "Course") -> Path:
    """Return a workspace's absolute path; copy the lessons into it if it is missing or empty."""
    from jaxguide.course.progress import Progress
    from jaxguide.student.answers_in_files import read_all
    from jaxguide.student.index import keep_index
    from jaxguide.student.workspace import lay_workspace

    folder = folder.resolve()
    try:
        if not folder.exists() or not any(folder.iterdir()):
            laid = lay_workspace(folder, course, scripts=True)
            keep_index(course, Progress(folder, course.identity), creates=True)
            one, more = "{count} file copied into {folder}.", "{count} files copied into {folder}."
            click.echo(plural(one, more, len(laid), folder=folder))
    except OSError as error:
        raise click.UsageError(f"The workspace could not be created: {error}.") from None
    if not read_all(folder, course):
        words = "There is no exercise in {folder}. `jaxguide watch workspace` creates a folder with the lessons."
        raise click.UsageError(words.format(folder=folder))
    return folder
