"""The commands of students: `watch`, `check`, `hint`, `solution`, `reset`, `list`, `next` and `progress`."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxguide.base.text import plural
from jaxguide.cli.common import (
    begin_with_zygote,
    complete_exercise,
    complete_lesson,
    course_meant,
    json_option,
    need,
    need_names,
    print_json,
    progress_of,
    read_course,
    read_course_outline,
    start_zygote,
    stopped_by_signals,
    students_course_option,
    workspace_of,
)

if TYPE_CHECKING:
    from jaxguide.course.books.outline import Outline
    from jaxguide.student.answers_in_files import FileAnswers
    from jaxguide.student.standing import Position


@click.command(short_help="Check your answers whenever you save them.")
@students_course_option
@click.option(
    "--cpu-limit",
    "cpu_limit_s",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
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


def usual_folder(course: "Outline") -> Path:
    """Return the folder to watch by default: the existing workspace, or the one to create."""
    from jaxguide.course.progress import has_progress
    from jaxguide.student.answers_in_files import read_all
    from jaxguide.student.workspace import DEFAULT_FOLDER

    found = workspace_of(course)
    if found != Path() or has_progress(found, course.identity):
        return found
    here = found.resolve()
    return found if any(file.path.parent == here for file in read_all(here, course)) else Path(DEFAULT_FOLDER)


def open_workspace(folder: Path, course: "Outline") -> Path:
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
        words = "{folder} contains no exercises. `jaxguide watch workspace` creates a folder with the lessons."
        raise click.UsageError(words.format(folder=folder))
    return folder


@click.command(short_help="Check the answers in a file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("exercises", nargs=-1, metavar="[EXERCISE]...", shell_complete=complete_exercise)
@click.option("--verbose", is_flag=True, help="List the checks of each exercise too.")
@students_course_option
@json_option
def check(file: Path, exercises: tuple[str, ...], verbose: bool, folder: Path | None, as_json: bool) -> None:
    """Run the visible checks on the answers in FILE, a notebook or a .py file.

    The exit status is 0 if everything that was checked passed, 1 if not, 2 if the command was wrong, and 3 if the
    course has a mistake.

    \b
    Example: jaxguide check random_numbers.py
             jaxguide check random_numbers.ipynb two_samples
    """
    folder = course_meant(folder, file=file)
    need_names(folder, exercises, as_json=as_json)
    begin_with_zygote([file])
    from rich.console import Console

    from jaxguide.base.clean import clean
    from jaxguide.course.cards import Card, result_to_plain, summary_card
    from jaxguide.course.verdict import Verdict
    from jaxguide.grading.workers.worker_process import GraderError
    from jaxguide.student.check_file import check_file, lessons_in
    from jaxguide.student.help import below_pass, stuck

    start_zygote()
    outline = read_course_outline(folder, as_json=as_json)
    course = read_course(folder, keys=False, as_json=as_json, lessons=lessons_in(file, outline))
    try:
        progress = progress_of(outline)
        found = check_file(file, course, progress, exercises or None)
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
                exercise = course.exercise(result.name)
                if result.first_failure or result.as_given:
                    result.hint = stuck(exercise, outline, progress, "terminal")
                more = below_pass(result, exercise, outline, progress)
                console.print(Card(result, verbose=verbose, more=more))
                console.print()
        for repair in found.repairs:
            console.print(clean(repair), markup=False, highlight=False)
        console.print(summary_card(found.results))
    if found.unreadable is not None:
        click.echo(f"{file}: {found.unreadable}", err=True)
        sys.exit(1)
    sys.exit(0 if all(result.verdict is Verdict.PASSED for result in found.results) else 1)


@click.command(short_help="Show a hint for an exercise.")
@click.argument("exercise", shell_complete=complete_exercise)
@click.argument("number", type=int, required=False)
@students_course_option
def hint(exercise: str, number: int | None, folder: Path | None) -> None:
    """Show the hint for EXERCISE that you read last, or the first; or hint NUMBER.

    \b
    Example: jaxguide hint two_samples
             jaxguide hint two_samples 2
    """
    course = read_course_outline(course_meant(folder))
    found = need(course.exercise, exercise)
    from jaxguide.student.help import hint_card
    from jaxguide.student.screen import console

    progress = progress_of(course)
    console().print(hint_card(found, course, progress, "terminal", number))
    if progress.trouble:
        click.echo(f"Your progress could not be kept: {progress.trouble}", err=True)


@click.command(short_help="Show the solution of an exercise.")
@click.argument("exercise", shell_complete=complete_exercise)
@click.option("--sure", is_flag=True, help="Show it after three different tries, even if the exercise has not passed.")
@students_course_option
def solution(exercise: str, sure: bool, folder: Path | None) -> None:
    """Show the solution of EXERCISE, once it has passed or after three different tries.

    \b
    Example: jaxguide solution two_samples
    """
    course = read_course_outline(course_meant(folder))
    found = need(course.exercise, exercise)
    from jaxguide.student.help import solution_card, why_closed
    from jaxguide.student.screen import console

    closed = why_closed(found, course, progress_of(course), sure, "terminal")
    if closed is None:
        console().print(solution_card(found, course))
    else:
        click.echo(closed)


@click.command(short_help="Start an exercise over; your old answer is saved.")
@click.argument("exercise", shell_complete=complete_exercise)
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file to change, if several of your files answer the exercise.",
)
@students_course_option
def reset(exercise: str, file: Path | None, folder: Path | None) -> None:
    """Restore the empty function of EXERCISE in your notebook or .py file; your old answer is saved to a file.

    \b
    Example: jaxguide reset two_samples
             jaxguide reset two_samples --file workspace/random_numbers.py
    """
    course = read_course_outline(course_meant(folder))
    found = need(course.exercise, exercise)
    from jaxguide.student.answers_in_files import read_all
    from jaxguide.student.reset import give_stub_back, reset_sentence

    workspace = workspace_of(course).resolve()
    having = [one for one in read_all(workspace, course) if exercise in one.places]
    answered = [one.path for one in having if exercise in one.prints]
    if file is not None:
        answered = [file.resolve()]
    elif not having:
        words = "No file in {folder} contains `{name}`. Give one: jaxguide reset {name} --file FILE"
        raise click.UsageError(words.format(folder=workspace, name=exercise))
    elif not answered:
        click.echo(f"`{exercise}` is unchanged, so there is nothing to reset.")
        return
    elif len(answered) > 1:
        words = "Several of your files answer `{name}`: {files}. Choose one with --file."
        files = ", ".join(str(path.relative_to(workspace)) for path in answered)
        raise click.UsageError(words.format(name=exercise, files=files))
    try:
        backup = give_stub_back(answered[0], found, course.book_of(found), workspace)
    except (OSError, ValueError) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    click.echo(reset_sentence(answered[0], backup, workspace))


@click.command("list", short_help="List lessons and exercises, and which are done.")
@click.argument("lesson", required=False, shell_complete=complete_lesson)
@click.option("--all", "is_all", is_flag=True, help="List the exercises of every lesson.")
@students_course_option
def list_(lesson: str | None, is_all: bool, folder: Path | None) -> None:
    """List all lessons, with the exercises of the lesson you are working on; or list the exercises of LESSON.

    \b
    Example: jaxguide list
             jaxguide list random_numbers
    """
    course = read_course_outline(course_meant(folder))
    named = [need(course.lesson, lesson)] if lesson is not None else []
    from jaxguide.student.screen import console
    from jaxguide.student.standing import course_card, standing_card

    place, _files = _open(course)
    if is_all:
        named = list(course.books.values())
    here = place.current()
    opened = named or ([course.book_of(here)] if here is not None else [])
    out = console()
    shown = [standing_card(place, book) for book in opened]
    for card in shown if lesson is not None else [course_card(place), *shown]:
        out.print(card, "")


@click.command("next", short_help="Show the next exercise.")
@students_course_option
def next_(folder: Path | None) -> None:
    """Show the next exercise that is not done, and where to answer it.

    \b
    Example: jaxguide next
    """
    from jaxguide.student.answers_in_files import home_of, where_to_answer
    from jaxguide.student.screen import ExerciseText, console

    place, files = _open(read_course_outline(course_meant(folder)))
    exercise = place.current()
    if exercise is None:
        click.echo(place.all_done)
        return
    homes, workspace = home_of(exercise, files), workspace_of(place.course).resolve()
    text = where_to_answer(exercise, homes, workspace) if homes else ""
    console().print(ExerciseText(exercise, place.course.book_of(exercise), text))


@click.command(short_help="Show your progress.")
@students_course_option
def progress(folder: Path | None) -> None:
    """Show your progress: exercises, points and hints of each lesson, and what to do next.

    \b
    Example: jaxguide progress
    """
    from jaxguide.student.screen import console
    from jaxguide.student.standing import course_card

    place, _files = _open(read_course_outline(course_meant(folder)))
    exercise = place.current() or place.exercises[-1]
    console().print(course_card(place))
    click.echo(place.next_step(place.course.book_of(exercise)))


def _open(course: "Outline") -> "tuple[Position, list[FileAnswers]]":
    """Return the student's place in a course, and their files."""
    from jaxguide.course.progress import has_progress
    from jaxguide.student.answers_in_files import read_all
    from jaxguide.student.standing import Position

    workspace = workspace_of(course)
    files = read_all(workspace.resolve(), course)
    if not files and not has_progress(workspace, course.identity):
        said = "{folder} contains no lessons and no progress. `jaxguide watch` creates a workspace in it."
        click.echo(said.format(folder=workspace.resolve()), err=True)
    return Position(course, progress_of(course), files), files
