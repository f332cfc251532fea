"""The command `watch`: check answers whenever their file is saved."""

import contextlib
import sys
from pathlib import Path

import click

from jaxguide.cli.common import (
    begin_with_zygote,
    course_meant,
    read_course,
    start_zygote,
    stopped_by_signals,
    students_course_option,
)

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
    click.echo("Loading the lessons …" if _can_show("…") else "Loading the lessons ...")
    course = read_course(folder, keys=False)
    try:
        at = watching.open_workspace(workspace or watching.usual_folder(course), course)
    except watching.NoWorkspace as error:
        raise click.UsageError(str(error)) from None
    with contextlib.suppress(KeyboardInterrupt), stopped_by_signals():
        watching.run_session(course, at, cpu_limit_s)
    sys.exit(0)


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
