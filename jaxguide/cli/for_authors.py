"""The commands for authors: `verify` and `print`."""

import os
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxguide.base.text import plural
from jaxguide.cli.common import (
    author_errors_told,
    begin_with_zygote,
    complete_exercise,
    complete_lesson,
    course_option,
    files_of,
    json_option,
    judged_course,
    need_names,
    print_json,
    read_course,
    read_course_settings,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from jaxguide.course.books.library import Course
    from jaxguide.course.exercise import Exercise
    from jaxguide.course.judging.compilation_cache import KeptPrograms
    from jaxguide.proving.proof import Problem, Proof
    from jaxguide.proving.through_workers import WorkerProof

# In the seconds that it takes to start a process, a running one proves about this many exercises.
_WORTH_A_PROCESS = 4


@click.command(short_help="Prove that right answers pass and wrong ones fail.")
@click.argument("lessons", nargs=-1, metavar="[LESSON]...", shell_complete=complete_lesson)
@course_option
@json_option
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Seeds to judge the key's answers with; others get one less, but at least one.",
)
@click.option("--only", metavar="EXERCISE", help="Prove only this exercise.", shell_complete=complete_exercise)
@click.option("--jobs", type=click.IntRange(1), help="Exercises to prove in parallel; by default one per core.")
@click.option("--strict", is_flag=True, help="Treat what good teaching needs as problems, too, and not as notes.")
@click.option("--workers/--no-workers", default=True, help="Grade the planted answers, too, as `grade` would, or not.")
def verify(
    lessons: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
    seeds: int,
    only: str | None,
    jobs: int | None,
    strict: bool,
    workers: bool,
) -> None:
    """Prove every exercise: right answers pass, and each wrong answer fails the check that it names.

    If you name lessons, only their exercises are proven. At the end, all planted answers are graded as `jaxguide grade`
    would grade them, in processes of their own and under limits, and must get the same verdicts.

    Grading does not need hints, ideas and the like, but good teaching does. If they are missing, notes say so; with
    --strict, that is a problem.

    \b
    Example: jaxguide verify random_numbers
             jaxguide verify --only two_samples --seeds 50
    """
    if lessons and only is not None:
        raise click.UsageError("Give lessons or `--only`, not both.")
    need_names(folder, [] if only is None else [only], lessons, as_json=as_json)
    started = time.monotonic()
    if workers:
        begin_with_zygote(files_of(folder))
    with _kept_programs().lent() as programs, judged_course(folder, as_json=as_json, programs=programs) as course:
        from rich.console import Console

        from jaxguide.proving import course_problems

        console = Console(stderr=True, quiet=as_json, markup=False, highlight=False)
        exercises = _chosen(course, lessons, only)
        whole: Collection[str] = (lessons or course.books) if only is None else ()
        proof = _prove(course, exercises, seeds, jobs, programs, console)
        told = len(proof.problems)
        proof.advice += course_problems.core_problems(course, whole)
        if strict:
            proof.problems += proof.advice
            proof.advice = []
        if only is None and not lessons:
            proof.problems += course_problems.kept_problems(course, proof)
        _tell(proof.problems[told:], console)
        left_out = course_problems.left_out_of_set_ups(course, whole) + course_problems.ignored_translations(course)
        seconds = round(time.monotonic() - started, 1)
        by_workers = _prove_through_workers(course, exercises, proof, jobs, programs, console) if workers else None
        # Last: an author prints once all else is right.
        stale = course_problems.stale_problems(course, whole) if whole else []
        (proof.problems if strict else proof.advice).extend(stale)
        _tell(stale if strict else [], console)
    worker_seconds = round(time.monotonic() - started - seconds, 1)
    if as_json:
        graded = by_workers and {
            "answers": by_workers.answers,
            "cpu_s": round(by_workers.cpu_s, 3),
            "seconds": worker_seconds,
        }
        plain = {"left_out": [note.to_plain() for note in left_out], "seconds": seconds, "workers": graded}
        print_json({**proof.to_plain(), **plain})
    else:
        for note in [*proof.notes, *left_out, *proof.advice]:
            click.echo(f"note: {note}")
        click.echo(
            f"exercises: {proof.exercises - proof.predictions}; predictions: {proof.predictions}; "
            f"visible checks: {proof.checks}; hidden checks: {proof.hidden_checks}; "
            f"wrong answers: {proof.wrong}; other right answers: {proof.alternatives}"
        )
        found = plural("{count} problem", "{count} problems", len(proof.problems)) if proof.problems else "all proven"
        click.echo(f"{found}: {proof.judged} answers judged in {seconds} s")
        if proof.kept:
            click.echo(f"answers that miss the point keep {proof.share_kept:.1%} of the points")
        if proof.reproduced:
            click.echo(f"documented examples: {len(proof.reproduced)} reproduced, each proven by itself")
        words = "not graded through workers (--no-workers), so `grade` may give other verdicts"
        if by_workers is not None:
            words = f"through workers: {by_workers.answers} answers graded in {worker_seconds} s"
        click.echo(words)
    sys.exit(1 if proof.problems else 0)


def _kept_programs() -> "KeptPrograms":
    """Return the cache of the programs that proofs compile, so that a later proof compiles only what changed."""
    from jaxguide.course.judging.compilation_cache import KeptPrograms
    from jaxguide.grading.workers.shared_programs import OWN, folder_of, prune

    folder = folder_of("proofs")
    prune(folder)
    return KeptPrograms(folder / OWN)


def _chosen(course: "Course", lessons: tuple[str, ...], only: str | None) -> "list[Exercise]":
    if only is not None:
        return [course.exercise(only)]
    books = [course.lesson(name) for name in dict.fromkeys(lessons)] or list(course.books.values())
    return [exercise for book in books for exercise in book.exercises]


def _bar_in(console: "Console") -> "Progress":
    """Return a bar of progress that stays below what the console shows."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, console=console, transient=True, disable=console.quiet)


def _tell(problems: "Sequence[Problem]", console: "Console") -> None:
    for problem in problems:
        console.print(str(problem), style="red", soft_wrap=True)
        for line in problem.details:
            console.print(f"    {line}", soft_wrap=True)


def _prove(
    course: "Course",
    exercises: "Sequence[Exercise]",
    seeds: int,
    jobs: int | None,
    programs: Path,
    console: "Console",
) -> "Proof":
    """Prove exercises, and show the progress and the problems."""
    from jaxguide.grading.batch.grader import cores
    from jaxguide.proving.proof import Proof
    from jaxguide.proving.prove_in_parallel import ProverDied, prove

    def stuck(problem: "Problem") -> None:
        """End: the main thread is in code that cannot be stopped."""
        # What that code prints is captured.
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        if console.quiet:
            print_json({"problems": [problem.to_plain()]})
        else:
            _tell([problem], console)
            click.echo("What comes after it was not proven.", err=True)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(1)

    jobs = jobs or min(cores(), max(1, len(exercises) // _WORTH_A_PROCESS))
    proof, told = Proof(seeds=seeds), 0
    try:
        with _bar_in(console) as bar:
            task = bar.add_task("", total=len(exercises))
            found = prove(course, exercises, seeds=seeds, jobs=jobs, programs=programs, stuck=stuck)
            for number, (exercise, proof) in enumerate(found, start=1):
                bar.update(task, completed=number, description=exercise.name)
                _tell(proof.problems[told:], console)
                told = len(proof.problems)
    except ProverDied as died:
        raise click.ClickException(str(died)) from None
    return proof


def _prove_through_workers(
    course: "Course",
    exercises: "Sequence[Exercise]",
    proof: "Proof",
    jobs: int | None,
    programs: Path,
    console: "Console",
) -> "WorkerProof":
    """Grade what was proven, and add what is graded differently to the problems."""
    from jaxguide.grading.workers.worker_process import GraderError
    from jaxguide.proving.through_workers import prove_through_workers

    with _bar_in(console) as bar:
        task = bar.add_task("through workers", total=1)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        try:
            found = prove_through_workers(course, exercises, proof.verdicts, jobs=jobs, programs=programs, tell=tell)
        except GraderError as error:
            raise click.ClickException(f"{error} To prove without workers, use --no-workers") from None
        _tell(found.problems, console)
    proof.problems += found.problems
    return found


@click.command("print", short_help="Create the students' notebooks from the books.")
@course_option
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with status 1 if a file is stale.")
@click.option(
    "--zip",
    "archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a zip of all that students need.",
)
def print_(folder: Path | None, only_check: bool, archive: Path | None) -> None:
    """Print the books for students: notebooks/<topic>.ipynb and .py.

    Beside the notebooks of a course of your own lies all that their checks need, without its key. So give students the
    whole folder, or the zip.

    \b
    Example: jaxguide print
             jaxguide print --course my_course --zip my_course.zip
    """
    from jaxguide.base.files import write_whole, zip_bytes
    from jaxguide.course.books.handout import for_students, print_files, stale_files

    if only_check and archive is not None:
        raise click.UsageError("Give `--check` or `--zip`, not both.")
    without_identity = _without_identity(folder, only_check)
    course = read_course(folder, keys=False)
    target = course.folders.notebooks
    files = for_students(course)
    stale = stale_files(files, target)
    if only_check:
        for path in (*without_identity, *stale):
            click.echo(f"{path} is stale; run `jaxguide print`")
        sys.exit(1 if stale or without_identity else 0)
    print_files(files, target)
    for path in stale:
        click.echo(f"{'printed' if path.exists() else 'deleted'} {path}")
    if not stale:
        click.echo(f"every printed lesson in {target} is up to date")
    if archive is not None:
        try:
            write_whole(archive, zip_bytes({f"{archive.stem}/{name}": content for name, content in files.items()}))
        except OSError as error:
            raise click.ClickException(str(error)) from None
        click.echo(f"Written: {archive}")


def _without_identity(folder: Path | None, only_check: bool) -> list[Path]:
    """Give a course an identity if it has none; or else, if nothing may be written, return where it is missing."""
    from jaxguide.course.books.folders import course_folders
    from jaxguide.course.settings import add_identity

    where = course_folders(folder)
    if where.is_laid_out:
        raise click.UsageError(f"{folder} is what students get of a course. Give the folder of the course itself.")
    if where.is_bundled or read_course_settings(folder).identity or not any(where.exercises.glob("*.py")):
        return []
    if only_check:
        return [where.settings_file]
    with author_errors_told():
        identity = add_identity(where.top)
    words = "{path} now gives the course an identity, `{identity}`. Keep it: students' progress depends on it."
    click.echo(words.format(path=where.settings_file, identity=identity))
    return []
