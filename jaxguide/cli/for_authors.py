"""The commands for authors and maintainers: `verify`, `print`, `coverage` and `drift`."""

import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxguide.base.text import _, plural
from jaxguide.cli.common import (
    complete_exercise,
    complete_lesson,
    course_option,
    json_option,
    judged_course,
    need_names,
    print_json,
    read_course,
)

if TYPE_CHECKING:
    from jaxguide.course.books.library import Course
    from jaxguide.proving.proof import Problem, Proof

# In the seconds that it takes to start a process, a running one proves about this many exercises.
_WORTH_A_PROCESS = 4


@click.command(short_help="Prove every exercise of the course.")
@click.argument("lessons", nargs=-1, metavar="[LESSON]...", shell_complete=complete_lesson)
@course_option
@json_option
@click.option("--seeds", type=click.IntRange(1), default=2, show_default=True, help="Seeds to judge each answer with.")
@click.option("--only", metavar="EXERCISE", help="Prove only this exercise.", shell_complete=complete_exercise)
@click.option("--jobs", type=click.IntRange(1), help="Exercises to prove in parallel; by default one per core.")
def verify(
    lessons: tuple[str, ...], folder: Path | None, as_json: bool, seeds: int, only: str | None, jobs: int | None
) -> None:
    """Prove every exercise: right answers pass, and each wrong answer fails the check that it names.

    If you name lessons, only their exercises are proven.

    \b
    Example: jaxguide verify random_numbers
             jaxguide verify --only two_samples --seeds 50
    """
    if lessons and only is not None:
        raise click.UsageError(_("Give lessons or `--only`, not both."))
    need_names(folder, [] if only is None else [only], lessons, as_json=as_json)
    started = time.monotonic()
    with judged_course(folder, as_json=as_json) as course:
        from jaxguide.proving.proof import left_out_of_set_ups, unnamed_inputs

        proof = _prove(course, lessons, only, seeds, jobs, as_json)
        asked = list(lessons or course.books) if only is None else []
        notes, unnamed = left_out_of_set_ups(course, asked), unnamed_inputs(course, asked)
    seconds = round(time.monotonic() - started, 1)
    if as_json:
        plain = {"left_out": _plain(notes), "unnamed_inputs": _plain(unnamed)}
        print_json({**proof.to_plain(), **plain, "seconds": seconds})
    else:
        for note in [*notes, *unnamed]:
            click.echo(_("note: {note}").format(note=note))
        words = _(
            "exercises: {exercises}; predictions: {predictions}; visible checks: {checks}; hidden checks: {hidden}; "
            "wrong answers: {wrong}; other right answers: {right}"
        )
        counts = {
            "exercises": proof.exercises - proof.predictions,
            "predictions": proof.predictions,
            "checks": proof.checks,
            "hidden": proof.hidden_checks,
            "wrong": proof.wrong,
            "right": proof.alternatives,
        }
        click.echo(words.format(**counts))
        found = (
            plural("{count} problem", "{count} problems", len(proof.problems)) if proof.problems else _("all proven")
        )
        click.echo(_("{found}: {judged} answers judged in {s} s").format(found=found, judged=proof.judged, s=seconds))
    sys.exit(1 if proof.problems else 0)


def _plain(notes: "list[Problem]") -> list[dict[str, object]]:
    return [{**dataclasses.asdict(note), "path": str(note.path)} for note in notes]


def _prove(
    course: "Course", lessons: tuple[str, ...], only: str | None, seeds: int, jobs: int | None, as_json: bool
) -> "Proof":
    """Prove the requested exercises, and show the progress and the problems."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from jaxguide.grading.batch.pools import cores
    from jaxguide.proving.proof import Proof, stale_problems
    from jaxguide.proving.prove_in_parallel import ProverDied, prove

    books = [course.lesson(name) for name in dict.fromkeys(lessons)] or list(course.books.values())
    exercises = [exercise for book in books for exercise in book.exercises]
    if only is not None:
        exercises = [course.exercise(only)]
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    bar = Progress(*columns, console=console, transient=True, disable=as_json)

    def tell(problems: "list[Problem]") -> None:
        for problem in problems if not as_json else []:
            console.print(str(problem), style="red", markup=False, soft_wrap=True, highlight=False)

    jobs = jobs or min(cores(), max(1, len(exercises) // _WORTH_A_PROCESS))
    proof, shown = Proof(seeds=seeds), 0
    try:
        with bar:
            task = bar.add_task("", total=len(exercises))
            for exercise, proof in prove(course, exercises, seeds=seeds, jobs=jobs):
                bar.update(task, advance=1, description=exercise.name)
                tell(proof.problems[shown:])
                shown = len(proof.problems)
    except ProverDied as died:
        raise click.ClickException(str(died)) from None
    stale = stale_problems(course, [book.topic for book in books]) if only is None else []
    tell(stale)
    proof.problems += stale
    return proof


@click.command("print")
@course_option
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with status 1 if a file is stale.")
@click.option("--lang", metavar="LANGUAGE", help="Print a translation, into notebooks/LANGUAGE; see `translate`.")
def print_(folder: Path | None, only_check: bool, lang: str | None) -> None:
    """Print the books for students: notebooks/<topic>.ipynb and .py.

    \b
    Example: jaxguide print
             jaxguide print --lang de
    """
    from jaxguide.base.catalogues import COURSE, files, named
    from jaxguide.course.books.printer import SOURCE, print_book, print_data, stale_data, stale_files

    course = read_course(folder, keys=False)
    target = course.folders.notebooks
    if lang is not None:
        if len(named(lang)) != 1 or not files(COURSE, named(lang)):
            words = _("The lessons are not translated into `{name}`; start with `jaxguide translate {name}`.")
            raise click.UsageError(words.format(name=lang))
        target /= named(lang)[0]
    language = lang or SOURCE
    stale = [path for book in course.books.values() for path in stale_files(book, target, language)]
    stale += stale_data(course.files, target)
    if only_check:
        for path in stale:
            click.echo(_("{path} is stale; run `jaxguide print`").format(path=path))
        sys.exit(1 if stale else 0)
    for book in course.books.values():
        print_book(book, target, language)
    print_data(course.files, target)
    for path in stale:
        click.echo(_("printed {path}").format(path=path))
    if not stale:
        click.echo(_("every printed lesson in {folder} is up to date").format(folder=target))


@click.command(short_help="List the documented examples that exercises reproduce.")
@course_option
@json_option
def coverage(folder: Path | None, as_json: bool) -> None:
    """List the documented examples that the course's exercises reproduce.

    \b
    Example: jaxguide coverage --json
    """
    from jaxguide.proving.documented_examples import measure_coverage

    with judged_course(folder, as_json=as_json) as course:
        found = measure_coverage(course)
    if as_json:
        print_json(found.to_plain())
        return
    for example, exercise in found.by_exercise.items():
        click.echo(f"{example}  {exercise}")
    words = _("{reproduced} of {documented} documented examples are reproduced by graded exercises.")
    click.echo(words.format(reproduced=len(found.by_exercise), documented=len(found.documented)))


@click.command(short_help="Compare the documented examples with the installed JAX.")
@course_option
@json_option
def drift(folder: Path | None, as_json: bool) -> None:
    """Compare each documented example with what the installed JAX does; run this on each new release.

    The exit status is 1 if an example differs from what the ledger records.

    \b
    Example: jaxguide drift --json
    """
    import jax

    from jaxguide.proving.documented_examples import NEWLY_CHANGED, STATES, measure_drift

    with judged_course(folder, as_json=as_json) as course:
        found = list(measure_drift(course))
    counts = {state: sum(one.state == state for one in found) for state in STATES}
    if as_json:
        print_json({"jax": jax.__version__, "counts": counts, "examples": [one.to_plain() for one in found]})
    else:
        for one in found:
            note = one.got or one.setting or (_("since JAX {version}").format(version=one.since) if one.since else "")
            click.echo(f"{one.example:6} {one.state:14} {note or one.says}")
        click.echo(f"JAX {jax.__version__}: " + ", ".join(f"{state} {count}" for state, count in counts.items()))
    sys.exit(1 if counts[NEWLY_CHANGED] else 0)
