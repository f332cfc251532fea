"""The commands of students: `check`, `hint` and `solution`."""

import sys
from pathlib import Path

import click
from rich.console import Console

from jaxguide.cli.common import json_option, print_json, read_course
from jaxguide.text import _


@click.command(short_help="Check a file by the visible checks.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("exercises", nargs=-1, metavar="[EXERCISE]...")
@json_option
def check(file: Path, exercises: tuple[str, ...], as_json: bool) -> None:
    """Check the answers in FILE, a notebook or a .py, by the visible checks.

    \b
    Example: jaxguide check random_numbers.py
             jaxguide check random_numbers.ipynb two_samples
    """
    from jaxguide.course.card import Card, LessonSummary, clean, result_to_plain
    from jaxguide.course.library import UnknownName
    from jaxguide.course.verdict import Verdict
    from jaxguide.grading.remote import GraderError
    from jaxguide.grading.visible import check_file
    from jaxguide.lesson import student_progress

    course = read_course(None, keys=False, as_json=as_json)
    try:
        for name in exercises:
            course.exercise(name)
    except UnknownName as error:
        raise click.UsageError(str(error)) from None
    try:
        found = check_file(file, course, student_progress(), exercises or None)
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
                    result.hint = _("Stuck? `jaxguide hint {name}` helps.").format(name=result.name)
                console.print(Card(result))
                console.print()
        for repair in found.repairs:
            console.print(clean(repair), markup=False, highlight=False)
        console.print(LessonSummary(found.results))
    if found.unreadable is not None:
        click.echo(f"{file}: {found.unreadable}", err=True)
        sys.exit(1)
    sys.exit(0 if all(result.verdict is Verdict.PASSED for result in found.results) else 1)


@click.command()
@click.argument("exercise")
def hint(exercise: str) -> None:
    """Show the next hint for EXERCISE.

    \b
    Example: jaxguide hint two_samples
    """
    from jaxguide import lesson

    _need(exercise)
    lesson.show_hint(exercise)


@click.command(short_help="Show the solution of an exercise.")
@click.argument("exercise")
@click.option("--sure", is_flag=True, help="Show it after three different tries, before the exercise has passed.")
def solution(exercise: str, sure: bool) -> None:
    """Show the solution of EXERCISE, once it has passed or three different tries have not.

    \b
    Example: jaxguide solution two_samples
    """
    from jaxguide import lesson

    _need(exercise)
    lesson.show_solution(exercise, sure, f"`jaxguide solution {exercise} --sure`")


def _need(exercise: str) -> None:
    from jaxguide.course.library import UnknownName

    try:
        read_course(None, keys=False).exercise(exercise)
    except UnknownName as error:
        raise click.UsageError(str(error)) from None
