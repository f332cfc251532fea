"""The command `grade`: grade submissions and write the reports."""

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.cli.common import (
    Unusable,
    begin_with_zygote,
    course_option,
    files_of,
    json_option,
    need_names,
    read_course,
    some_names,
    stopped_by_signals,
)

if TYPE_CHECKING:
    from jaxguide.grading.intake.student_names import ClassList

_MOST_LINES = 20
ALL_GRADED, SOMETHING_NOT_GRADED, GRADER_BROKEN, STOPPED = 0, 1, 3, 130


LIMITS_HELP = (
    "Limits for submitted code, such as cpu=10,memory=1.5GB. For one exercise: cpu=30 (s of computing), idle=60 (s of "
    "waiting), memory=2GB, output=16MB (printed), scratch=256MB (all files), file=64MB (one file). For the whole "
    "submission: total-cpu=600 (s). After wall-factor=10 times cpu on the clock, the machine counts as too busy."
)


class _SubmittedPath(click.Path):
    """A file, a folder, or a file in an archive, as results name it: `class.zip/ada/lesson.ipynb`."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(value)
        if not path.exists():
            from jaxguide.grading.intake.file_search import archive_around

            if archive_around(path) is not None:
                return path
        return super().convert(value, param, ctx)


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Exit in the same way if Ctrl-C or SIGTERM comes before grading begins as if it comes later."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            with stopped_by_signals():
                command(*args, **options)
        except (KeyboardInterrupt, click.Abort):  # the latter at a question
            _say_stopped()
            sys.exit(STOPPED)

    return run


def _need_port(_context: click.Context, _parameter: click.Parameter, address: str | None) -> str | None:
    if address is not None and re.fullmatch(r"(\w+://)?[^/\s]+:\d{1,5}/?", address) is None:
        message = "`{address}` is not the address of a Dask scheduler. Give one such as tcp://10.0.0.1:8786."
        raise click.BadParameter(message.format(address=address))
    return address


def _say_stopped() -> None:
    click.echo("Stopped. Run the same command again to continue.", err=True)


def _no_choice(_context: click.Context, _parameter: click.Parameter, asked: str | None) -> None:
    if asked is not None:
        raise click.UsageError("`--isolation` is gone: submissions are always isolated as `jaxguide doctor` says.")


def _say_roster(roster: "ClassList") -> None:
    message = plural(
        "Roster: {count} student, by {column}",
        "Roster: {count} students, by {column}",
        len(roster.people),
        column=roster.column,
    )
    if roster.platform:
        message += f", as {roster.platform} exports them"
    groups = len(set(roster.groups.values()))
    if groups:
        message += plural(", in {count} group", ", in {count} groups", groups)
    if roster.left_out:
        message += f". Left out: {some_names(roster.left_out, '; ')}"
    click.echo(message + ".", err=True)


def _say_lines(title: str, lines: list[str]) -> None:
    click.echo(title)
    for line in lines[:_MOST_LINES]:
        click.echo(f"  {clean(line, 300)}")
    if len(lines) > _MOST_LINES:
        click.echo(f"  … and {len(lines) - _MOST_LINES} more")


@click.command(short_help="Grade what students handed in.")
@click.argument("paths", nargs=-1, required=True, type=_SubmittedPath(), metavar="PATH...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder for the results. After an interruption, run again with the same folder to continue.",
)
@click.option("--jobs", type=click.IntRange(1), help="Submissions to grade in parallel; by default one per core.")
@click.option("--limits", "limits_text", metavar="LIMITS", help=LIMITS_HELP)
@click.option(
    "--seed",
    "asked_seed",
    default="0",
    show_default=True,
    metavar="NUMBER",
    help="The seed of every random input; `secret` creates a random seed and keeps it in OUT/seed.txt.",
)
@click.option("--lesson", "lessons", multiple=True, metavar="LESSON", help="Grade only this lesson; may be repeated.")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Grade only this exercise; may be repeated.")
@click.option("--core", "is_core", is_flag=True, help="Grade only the core of each lesson: nothing else counts.")
@click.option("--all-or-nothing", is_flag=True, help="Give no partial marks.")
@click.option(
    "--roster",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="The class list, your own or as a learning platform exports it. Students who sent nothing are listed as "
    "absent.",
)
@click.option("--roster-column", metavar="HEADING", help="The roster's column of names; by default it is recognized.")
@click.option(
    "--student-from",
    metavar="PATTERN",
    help="Where a path contains the student's name: '{student}_*/*', or a regular expression with a group `student`.",
)
@click.option(
    "--overrides",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="Points that you give by hand, in the columns student, exercise, points and comment; by default "
    "OUT/overrides.csv, if it exists.",
)
@click.option("--reveal", is_flag=True, help="Show students the details of hidden checks, too.")
@click.option("--isolation", hidden=True, expose_value=False, callback=_no_choice)
@click.option("--trust-submissions", is_flag=True, help="Grade even if submissions could read your files.")
@click.option(
    "--scheduler", metavar="ADDRESS", callback=_need_port, help="Grade on the workers of this Dask scheduler."
)
@course_option
@json_option
@_stoppable
def grade(
    paths: tuple[Path, ...],
    out: Path,
    jobs: int | None,
    limits_text: str | None,
    asked_seed: str,
    lessons: tuple[str, ...],
    only: tuple[str, ...],
    is_core: bool,
    all_or_nothing: bool,
    roster: Path | None,
    roster_column: str | None,
    student_from: str | None,
    overrides: Path | None,
    reveal: bool,
    trust_submissions: bool,
    scheduler: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Grade submissions: notebooks, .py files, and folders of them.

    Each submission runs in its own processes. If grading is interrupted, run the same command again: it continues where
    it stopped. Exit status: 0 if every submission has marks, 1 if some marks are missing, 2 for a usage error, 3 if the
    course has a mistake or the grader does not work on this machine, 130 if you stopped it.

    \b
    Example: jaxguide grade submissions/ --out results/
    """
    if is_core and only:
        raise click.UsageError("Give `--core` or `--only`, not both.")
    need_names(folder, only, lessons, as_json=as_json)
    begin_with_zygote([*paths, *files_of(folder)])
    from jaxguide.course.limits import LimitsError, parse_limits
    from jaxguide.grading.batch.grade_class import ClassRun, Order
    from jaxguide.grading.batch.grader import GradeSettings
    from jaxguide.grading.batch.store import NoBatch, SeedError, Store, StoreError, seed_of
    from jaxguide.grading.batch.table import GradeTable, ProgressBar
    from jaxguide.grading.intake.file_owners import PatternError
    from jaxguide.grading.intake.file_search import NothingToGrade
    from jaxguide.grading.intake.instructor_tables import TableError
    from jaxguide.grading.intake.submission import why_passed_over
    from jaxguide.grading.isolation.self_test import find_isolation
    from jaxguide.grading.reports import write_reports
    from jaxguide.grading.reports.marks import changed_marks
    from jaxguide.grading.reports.results_json import marks_without_store, results_before, to_text, with_marks_elsewhere
    from jaxguide.grading.workers.worker_process import GraderError

    course = read_course(folder, keys=True, as_json=as_json)
    beyond = {one.name for one in course.exercises.values() if is_core and one.is_more}
    asked = {*only, *(one.name for topic in lessons for one in course.books[topic].exercises)}
    if beyond:
        asked = {*(asked or course.exercises)} - beyond
    try:
        settings = GradeSettings(
            seed=seed_of(asked_seed, out),
            limits=parse_limits(limits_text or "", course.settings.limits),
            all_or_nothing=all_or_nothing,
            only=frozenset(asked) or None,
            trust_submissions=trust_submissions,
        )
        order = Order(
            paths, course, out, settings, jobs, roster, roster_column, overrides, student_from, scheduler, beyond
        )
        run = ClassRun(order)
    except (LimitsError, NothingToGrade, PatternError, SeedError, TableError) as error:
        raise click.UsageError(str(error)) from None
    except GraderError as error:  # nothing can read the files
        raise Unusable(str(error)) from None
    if run.roster is not None and not as_json:
        _say_roster(run.roster)
    if lost := marks_without_store(out):
        raise click.UsageError(lost)
    before = results_before(out)
    status = None
    try:
        with Store(out) as store:
            try:
                if scheduler is None and trust_submissions and (missing := find_isolation().missing):
                    click.echo(f"Submissions are not isolated completely: {'; '.join(missing)}.", err=True)
                with ProgressBar(run.count) as bar:
                    run.grade(store, bar.watch)
            except KeyboardInterrupt:
                _say_stopped()
                status = STOPPED
            except GraderError as error:
                click.echo(str(error), err=True)
                status = GRADER_BROKEN
            batch = run.result(store, before)
    except NoBatch as error:
        if status is None:
            raise Unusable(str(error)) from None
        sys.exit(status)  # the reason is already printed
    except StoreError as error:
        raise Unusable(with_marks_elsewhere(error, out)) from None
    except OSError as error:
        raise Unusable(str(error)) from None
    try:
        write_reports(batch, out, reveal=reveal)
    except OSError as error:
        raise Unusable(f"The marks are stored in `{store.file}`, but the reports cannot be written: {error}.") from None
    if as_json:
        click.echo(to_text(batch), nl=False)
    else:
        from rich.console import Console

        Console().print(GradeTable(batch.submissions, batch.lessons))
        if batch.beyond:
            click.echo("Only the core of each lesson counts.")
        if batch.unknown:
            one, many = "{count} student is not on the roster", "{count} students are not on the roster"
            click.echo(f"{plural(one, many, len(batch.unknown))}: {some_names(batch.unknown)}")  # the report has all
        if run.line.alike:
            said = plural("{count} name looks like another's", "{count} names look like another's", len(run.line.alike))
            click.echo(f"{said}, but for hidden characters: {some_names(run.line.alike)}")
        if batch.passed_over:
            title = plural("{count} file was passed over:", "{count} files were passed over:", len(batch.passed_over))
            _say_lines(title, [f"{path}: {why_passed_over(path)}" for path in batch.passed_over])
        if before is not None and (changes := changed_marks(before, batch)):
            _say_lines("Since the last run:", changes)
        if old := [f"{one.student}: {one.exercise}" for one in batch.overrides if batch.outdated(one)]:
            _say_lines("Points by hand that are older than the student's file:", old)
        click.echo(f"Written: {out / 'report.html'}, tables, and a feedback page for each student.")
    if status is None:
        status = ALL_GRADED if batch.is_complete else SOMETHING_NOT_GRADED
    sys.exit(status)
