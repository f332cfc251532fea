"""The commands for students about one exercise: `check`, `hint`, `solution` and `reset`."""

import sys
from pathlib import Path

import click

from jaxguide.base.text import _
from jaxguide.cli.common import (
    begin_anew,
    complete_exercise,
    course_option,
    json_option,
    need,
    need_names,
    print_json,
    read_course,
    read_outline,
    start_zygote,
    workspace_of,
)


@click.command(short_help="Run the visible checks on a file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("exercises", nargs=-1, metavar="[EXERCISE]...", shell_complete=complete_exercise)
@course_option
@json_option
def check(file: Path, exercises: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """Run the visible checks on the answers in FILE, a notebook or a .py file.

    The exit status is 0 if everything that was checked passed, 1 if not, and 2 if the command was wrong.

    \b
    Example: jaxguide check random_numbers.py
             jaxguide check random_numbers.ipynb two_samples
    """
    need_names(folder, exercises, as_json=as_json)
    begin_anew([file])
    from rich.console import Console

    from jaxguide.base.clean import clean
    from jaxguide.course.cards import Card, LessonSummary, result_to_plain
    from jaxguide.course.progress import Progress
    from jaxguide.course.verdict import Verdict
    from jaxguide.grading.workers.remote import GraderError
    from jaxguide.student.check_file import check_file, lessons_in
    from jaxguide.student.help import stuck

    start_zygote()
    outline = read_outline(folder, as_json=as_json)
    course = read_course(folder, keys=False, as_json=as_json, lessons=lessons_in(file, outline))
    try:
        found = check_file(file, course, Progress(workspace_of(outline)), exercises or None)
    except GraderError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    if as_json:
        results = [result_to_plain(result) for result in found.results]
        print_json({"file": str(file), "unreadable": found.unreadable, "exercises": results})
    elif found.unreadable is None:
        console = Console()
        for result in found.results:
            not_started = result.verdict is Verdict.NOT_ATTEMPTED
            if exercises or not (not_started or result.verdict is Verdict.PASSED):
                if result.first_failure:
                    result.hint = stuck(result.name, "terminal")
                console.print(Card(result))
                console.print()
        for repair in found.repairs:
            console.print(clean(repair), markup=False, highlight=False)
        console.print(LessonSummary(found.results))
    if found.unreadable is not None:
        click.echo(f"{file}: {found.unreadable}", err=True)
        sys.exit(1)
    sys.exit(0 if all(result.verdict is Verdict.PASSED for result in found.results) else 1)


@click.command(short_help="Show the next hint for an exercise.")
@click.argument("exercise", shell_complete=complete_exercise)
@course_option
def hint(exercise: str, folder: Path | None) -> None:
    """Show the next hint for EXERCISE.

    \b
    Example: jaxguide hint two_samples
    """
    course = read_outline(folder)
    found = need(course.exercise, exercise)
    from jaxguide.course.progress import Progress
    from jaxguide.student.help import next_hint

    progress = Progress(workspace_of(course))
    heading, text = next_hint(found, progress)
    click.echo(f"{heading}\n\n{text}")
    _say_trouble(progress.trouble)


@click.command(short_help="Show the solution of an exercise.")
@click.argument("exercise", shell_complete=complete_exercise)
@click.option("--sure", is_flag=True, help="Show it after three different tries, even if the exercise has not passed.")
@course_option
def solution(exercise: str, sure: bool, folder: Path | None) -> None:
    """Show the solution of EXERCISE, once it has passed or after three different tries.

    \b
    Example: jaxguide solution two_samples
    """
    course = read_outline(folder)
    found = need(course.exercise, exercise)
    from jaxguide.course.progress import Progress
    from jaxguide.student.help import solution_text, stuck, why_closed

    how = f"`jaxguide solution {exercise} --sure`"
    closed = why_closed(found, Progress(workspace_of(course)), sure, how, stuck(exercise, "terminal"))
    click.echo(solution_text(found, course) if closed is None else closed)


@click.command(short_help="Restore an exercise's empty function.")
@click.argument("exercise", shell_complete=complete_exercise)
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file to change, if several of your files answer the exercise.",
)
@course_option
def reset(exercise: str, file: Path | None, folder: Path | None) -> None:
    """Restore the empty function of EXERCISE in your notebook or .py file; your old answer is saved to a file.

    \b
    Example: jaxguide reset two_samples
             jaxguide reset two_samples --file workspace/random_numbers.py
    """
    course = read_outline(folder)
    found = need(course.exercise, exercise)
    from jaxguide.student.answers_in_files import read_all
    from jaxguide.student.reset import give_stub_back
    from jaxguide.student.screen import reset_sentence

    workspace = workspace_of(course).resolve()
    having = [one for one in read_all(workspace, course) if exercise in one.places]
    answered = [one.path for one in having if exercise in one.prints]
    if file is not None:
        answered = [file.resolve()]
    elif not having:
        words = _("No file in {folder} contains `{name}`. Give one: jaxguide reset {name} --file FILE")
        raise click.UsageError(words.format(folder=workspace, name=exercise))
    elif not answered:
        click.echo(_("`{name}` is unchanged, so there is nothing to reset.").format(name=exercise))
        return
    elif len(answered) > 1:
        words = _("Several of your files answer `{name}`: {files}. Choose one with --file.")
        files = ", ".join(str(path.relative_to(workspace)) for path in answered)
        raise click.UsageError(words.format(name=exercise, files=files))
    try:
        done = give_stub_back(answered[0], found, course.book_of(found), workspace)
    except (OSError, ValueError) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    click.echo(reset_sentence(done.path, done.backup, workspace))


def _say_trouble(trouble: str) -> None:
    if trouble:
        click.echo(_("Your progress could not be kept: {why}").format(why=trouble), err=True)
