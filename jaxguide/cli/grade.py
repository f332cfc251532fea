"""The command of instructors: `grade`."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxguide.base.text import _, plural
from jaxguide.cli.common import begin_anew, course_option, files_of, json_option, need_names, print_json, read_course

if TYPE_CHECKING:
    from jaxguide.grading.batch.grader import GradeSettings

# So many of those that are not on the roster are named in the terminal; the report names all.
_SOME = 5
ALL_GRADED, SOMETHING_NOT_GRADED, GRADER_BROKEN, STOPPED = 0, 1, 3, 130


LIMITS_HELP = _(
    "What code may use, as cpu=10,memory=1.5GB. One exercise: cpu=30 (s, which decides), idle=60 (s of waiting), "
    "memory=2GB, output=16MB (printed), scratch=256MB (files together), file=64MB (one file); the whole submission: "
    "total-cpu=600; wall-factor=10: after so many times cpu on the clock, the machine is too busy to grade."
)


class _SubmittedPath(click.Path):
    """A file or folder, or a file in an archive, written as results name it: `class.zip/ada/lesson.ipynb`."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(value)
        if not path.exists():
            from jaxguide.grading.intake.archives import archive_around

            if archive_around(path) is not None:
                return path
        return super().convert(value, param, ctx)


class _Unusable(click.ClickException):
    """The folder of results cannot be used."""

    exit_code = GRADER_BROKEN


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command that is stopped before it has begun to grade end as one that is stopped later."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except KeyboardInterrupt:
            _say_stopped()
            sys.exit(STOPPED)

    return run


def _say_stopped() -> None:
    click.echo(_("Stopped. Run the same command again to go on."), err=True)


def _say_tier(settings: "GradeSettings") -> None:
    """Say what will keep submissions apart before any runs; where they may not run here at all, that is said later."""
    from jaxguide.grading.isolation import IsolationError, find_tier
    from jaxguide.grading.isolation.tier import STRONG

    try:
        tier = find_tier(settings.tier)
    except IsolationError:
        return
    if settings.trust_submissions or not tier.asks_for_trust:
        click.echo(_("Isolation: {tier}").format(tier=tier.name if tier.name == STRONG else tier), err=True)


def _say_unknown(students: list[str]) -> None:
    from jaxguide.course.cards import clean

    names = ", ".join(clean(name, 60) for name in students[:_SOME])
    if len(students) > _SOME:
        names = _("{names}, …").format(names=names)
    message = plural(
        "{count} student is not on the roster: {names}",
        "{count} students are not on the roster: {names}",
        len(students),
        names=names,
    )
    click.echo(message)


@click.command(short_help="Grade notebooks, .py files and folders.")
@click.argument("paths", nargs=-1, required=True, type=_SubmittedPath(), metavar="PATH...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder for the results. Run again with the same folder to go on after an interruption.",
)
@click.option("--jobs", type=click.IntRange(1), help="How many submissions at a time; by default one for each core.")
@click.option("--limits", "limits_text", metavar="LIMITS", help=LIMITS_HELP)
@click.option(
    "--seed",
    "asked_seed",
    default="0",
    show_default=True,
    metavar="NUMBER",
    help="What every random input derives from; `secret` for a number that nobody can guess, kept in OUT/seed.txt.",
)
@click.option("--only", multiple=True, metavar="EXERCISE", help="Grade this exercise alone; may be repeated.")
@click.option("--all-or-nothing", is_flag=True, help="No partial marks.")
@click.option(
    "--roster",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="Who is in the class, in the column `student`. Who sent nothing is listed as absent.",
)
@click.option(
    "--student-from",
    metavar="PATTERN",
    help="Where the student's name is: '{student}_*/*', or a regular expression with a group `student`.",
)
@click.option(
    "--overrides",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="Points you give by hand: student, exercise, points, comment. By default OUT/overrides.csv, if it is there.",
)
@click.option("--reveal", is_flag=True, help="Show students what hidden checks saw, too.")
@click.option("--isolation", "tier", type=click.Choice(["strong", "medium", "process"]), help="The tier to ask for.")
@click.option("--trust-submissions", is_flag=True, help="Grade even where nothing keeps a submission off your files.")
@click.option("--scheduler", metavar="ADDRESS", help="Grade on the workers of this Dask scheduler.")
@course_option
@json_option
@_stoppable
def grade(
    paths: tuple[Path, ...],
    out: Path,
    jobs: int | None,
    limits_text: str | None,
    asked_seed: str,
    only: tuple[str, ...],
    all_or_nothing: bool,
    roster: Path | None,
    student_from: str | None,
    overrides: Path | None,
    reveal: bool,
    tier: str | None,
    trust_submissions: bool,
    scheduler: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Grade submissions: notebooks, .py files, and folders of them.

    Each submission's code runs in processes of its own. Killed at any moment and run again, the same command goes on
    where it was. Exit status: 0 when every file has marks, 1 when one has none, 2 for wrong usage, 3 when the grader
    itself does not work here, 130 when you stopped it.

    \b
    Example: jaxguide grade submissions/ --out results/
    """
    need_names(folder, only, as_json=as_json)
    begin_anew([*paths, *files_of(folder)])
    from jaxguide.grading.batch.grade_class import ClassRun, Order, is_all_graded
    from jaxguide.grading.batch.grader import GradeSettings
    from jaxguide.grading.batch.limits_text import LimitsError, parse_limits
    from jaxguide.grading.batch.progress_bar import ProgressBar
    from jaxguide.grading.batch.seeds import SeedError, seed_of
    from jaxguide.grading.batch.store import NoBatch, Store, StoreError
    from jaxguide.grading.batch.table import GradeTable
    from jaxguide.grading.intake.lineup import NothingToGrade
    from jaxguide.grading.intake.roster import TableError
    from jaxguide.grading.intake.students import PatternError
    from jaxguide.grading.reports import to_plain, write_reports
    from jaxguide.grading.workers.remote import GraderError

    course = read_course(folder, keys=True, as_json=as_json)
    try:
        settings = GradeSettings(
            seed=seed_of(asked_seed, out),
            limits=parse_limits(limits_text or ""),
            all_or_nothing=all_or_nothing,
            only=frozenset(only) or None,
            tier=tier,
            trust_submissions=trust_submissions,
        )
        order = Order(paths, course, out, settings, jobs, roster, overrides, student_from, scheduler)
        run = ClassRun(order)
    except (LimitsError, NothingToGrade, PatternError, SeedError, TableError) as error:
        raise click.UsageError(str(error)) from None
    status = None
    try:
        with Store(out) as store:
            try:
                if scheduler is None:
                    _say_tier(settings)
                with ProgressBar(run.count) as bar:
                    run.grade(store, bar.watch)
            except KeyboardInterrupt:
                _say_stopped()
                status = STOPPED
            except GraderError as error:
                click.echo(str(error), err=True)
                status = GRADER_BROKEN
            batch = run.result(store)
        write_reports(batch, out, reveal=reveal)
    except NoBatch as error:
        if status is None:
            raise _Unusable(str(error)) from None
        sys.exit(status)  # it has been said why
    except (StoreError, OSError) as error:
        raise _Unusable(str(error)) from None
    if as_json:
        print_json(to_plain(batch))
    else:
        from rich.console import Console

        Console().print(GradeTable(batch.submissions))
        if batch.unknown:
            _say_unknown(batch.unknown)
        click.echo(_("Written: {file}, tables, and a feedback page for each student.").format(file=out / "report.html"))
    if status is None:
        status = ALL_GRADED if is_all_graded(batch) else SOMETHING_NOT_GRADED
    sys.exit(status)
