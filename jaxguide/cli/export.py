"""The commands `export gradescope`, `export moodle` and `export canvas`."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.cli.common import begin_with_zygote, course_option, need_names, read_course, some_names

if TYPE_CHECKING:
    from jaxguide.grading.batch.batch_result import BatchResult


@click.group(short_help="Export marks to Moodle or Canvas, or an autograder to Gradescope.")
def export() -> None:
    """Build a Gradescope autograder, or write marks for Moodle or Canvas.

    \b
    Example: jaxguide export moodle results/
    """


_results = click.argument("results", type=click.Path(exists=True, path_type=Path), default=Path("results"))


def _item(default: str) -> Callable[[Any], Any]:
    return click.option("--item", default=default, show_default=True, help="The name of the item in the gradebook.")


_lessons = click.option(
    "--lesson", "lessons", multiple=True, metavar="LESSON", help="Export the total of this lesson; may be repeated."
)


def _out(default: str) -> Callable[[Any], Any]:
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=Path(default), show_default=True, help="The file to write.")


@export.command()
@_results
@_item("Grade")
@_lessons
@click.option("--students-are", metavar="FIELD", help="The Moodle field that contains the names of your students.")
@_out("moodle.csv")
def moodle(results: Path, item: str, lessons: tuple[str, ...], students_are: str | None, out: Path) -> None:
    """Write marks as a CSV file that Moodle imports. Students without a mark get an empty cell.

    Students are identified by what Moodle's files and the roster say: participant, username, ID number, mail address.

    \b
    Example: jaxguide export moodle results/ --item "Homework 1" --students-are "Email address"
    """
    from jaxguide.grading.reports.csv_tables import MOODLE_IDS, moodle_csv

    where = "Moodle: Grades, Export, or the grading worksheet of the assignment"
    ids = MOODLE_IDS if students_are is None else None
    _write_gradebook(results, out, lambda batch: moodle_csv(batch, item, students_are), ids, where, lessons)


@export.command()
@_results
@_item("jaxguide")
@_lessons
@click.option(
    "--students-are",
    type=click.Choice(["SIS Login ID", "SIS User ID", "ID"]),
    help="The Canvas column that contains the names of your students.",
)
@_out("canvas.csv")
def canvas(results: Path, item: str, lessons: tuple[str, ...], students_are: str | None, out: Path) -> None:
    """Write marks as a CSV file that Canvas imports. Students without a mark get an empty cell.

    Students are identified by the ids in the names of Canvas's files and in the roster.

    \b
    Example: jaxguide export canvas results/ --item "Homework 1 (4711)"
    """
    from jaxguide.grading.reports.csv_tables import CANVAS_IDS, canvas_csv

    ids = CANVAS_IDS if students_are is None else None
    where = "Canvas: Grades, Export"
    _write_gradebook(results, out, lambda batch: canvas_csv(batch, item, students_are), ids, where, lessons)


def _write_gradebook(
    results: Path,
    out: Path,
    make: "Callable[[BatchResult], str]",
    ids: Mapping[str, str] | None,
    where: str,
    lessons: tuple[str, ...],
) -> None:
    """Write marks, and warn of students whom the platform will not match.

    Args:
        results: the results folder, or a `results.json`.
        out: the file to write.
        make: makes its text.
        ids: the ids by which the platform matches students; None if the instructor says that names are such.
        where: where the platform exports a roster.
        lessons: the lessons whose total is exported; all if it is empty.
    """
    from jaxguide.base.files import write_whole
    from jaxguide.grading.reports.marks import of_lessons, rows_of
    from jaxguide.grading.reports.results_json import NoResults, read_results

    try:
        batch = read_results(results)
        if missing := sorted(set(lessons) - set(batch.lessons)):
            there = ", ".join(batch.lessons)
            raise click.UsageError(f"The results have no lesson `{missing[0]}`, only these: {there}.")
        batch = of_lessons(batch, lessons) if lessons else batch
        rows = rows_of(batch)
        unknown = [row.student for row in rows if not row.ids.keys() & ids.keys()] if ids is not None else []
        if unknown:
            having = plural("{count} student has", "{count} students have", len(unknown))
            names = some_names(unknown)
            message = (
                f"Warning: {having} no id that the platform would match: {names}. Grade again with --roster and the "
                f"list that it exports ({where}), or say with --students-are what the names are."
            )
            click.echo(message, err=True)
        write_whole(out, make(batch))
    except NoResults as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Written: {out}")
    if len(batch.lessons) > 1:
        click.echo(f"It has the total of these lessons: {', '.join(batch.lessons)}. Choose with --lesson.")
    empty = [row for row in rows if row.score is None]
    if empty:
        click.echo(plural("{count} student has no mark:", "{count} students have no mark:", len(empty)))
        for row in empty:
            click.echo(f"  {clean(row.student, 100)} ({row.state.value})")


@export.command()
@click.option("--seed", type=int, help="The seed of every random input; by default a new one, stored in the zip.")
@click.option("--lesson", "lessons", multiple=True, metavar="LESSON", help="Grade only this lesson; may be repeated.")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Grade only this exercise; may be repeated.")
@click.option("--core", "is_core", is_flag=True, help="Grade only the core of each lesson.")
@click.option("--all-or-nothing", is_flag=True, help="Give no partial marks.")
@click.option(
    "--hidden",
    "visibility",
    type=click.Choice(["after_published", "hidden"]),
    default="after_published",
    show_default=True,
    help="When students see their marks and hidden checks.",
)
@click.option("--trust-submissions", is_flag=True, help="Grade even if submissions could read the key.")
@click.option(
    "--limits",
    "limits_text",
    metavar="LIMITS",
    help="Limits for submitted code, such as cpu=10,memory=1.5GB. See `jaxguide grade --help`.",
)
@click.option("--requirement", help="How pip installs jaxguide: from the path of a wheel, or by a requirement.")
@_out("autograder.zip")
@course_option
def gradescope(
    seed: int | None,
    lessons: tuple[str, ...],
    only: tuple[str, ...],
    is_core: bool,
    all_or_nothing: bool,
    visibility: str,
    trust_submissions: bool,
    limits_text: str | None,
    requirement: str | None,
    out: Path,
    folder: Path | None,
) -> None:
    """Build the zip that you upload to Gradescope as the autograder. It contains the key and the seed.

    \b
    Example: jaxguide export gradescope --course mycourse/ --out autograder.zip
    """
    if is_core and only:
        raise click.UsageError("Give `--core` or `--only`, not both.")
    need_names(folder, only, lessons)
    from jaxguide.course.judging.draw import fresh_seed
    from jaxguide.course.limits import LimitsError, parse_limits
    from jaxguide.grading.exports.gradescope import AutograderSettings, NoKey, autograder_zip

    course = read_course(folder, keys=True)
    asked = [*only, *(one.name for topic in lessons for one in course.books[topic].exercises)]
    if is_core:
        asked = [name for name in asked or course.exercises if not course.exercises[name].is_more]
    try:
        settings = AutograderSettings(
            seed=fresh_seed() if seed is None else seed,
            only=frozenset(asked) or None,
            all_or_nothing=all_or_nothing,
            visibility=visibility,
            trust_submissions=trust_submissions,
            limits=parse_limits(limits_text or "", course.settings.limits),
        )
        out.write_bytes(autograder_zip(course, settings, _requirement(requirement)))
    except (LimitsError, NoKey) as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Written: {out}. It contains the key and the seed {settings.seed}, so keep it to yourself.")


def _requirement(text: str | None) -> Path | str | None:
    """Return the path of a wheel to put into the zip, or else a requirement that pip resolves."""
    if text is None or "://" in text or not text.endswith(".whl"):
        return text
    if not Path(text).is_file():
        raise click.UsageError(
            f"Wheel not found: {text}. Build one with `pip wheel --no-deps` and give its path, or give a "
            "requirement such as `jaxguide @ git+https://...`."
        )
    return Path(text)


@export.command("fill-gradescope", hidden=True)
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
def fill_gradescope(root: Path) -> None:
    """Compile the course's programs while Gradescope builds its image; the zip's `setup.sh` calls this.

    \b
    Example: jaxguide export fill-gradescope /autograder
    """
    begin_with_zygote()
    from jaxguide.grading.exports.gradescope import fill_autograder
    from jaxguide.grading.workers.worker_process import GraderError

    try:
        fill_autograder(root)
    except GraderError as error:
        raise click.ClickException(str(error)) from None


@export.command("run-gradescope", hidden=True)
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
def run_gradescope(root: Path) -> None:
    """Grade the submission in a Gradescope container; the zip's `run_autograder` calls this.

    \b
    Example: jaxguide export run-gradescope /autograder
    """
    begin_with_zygote()
    from jaxguide.grading.exports.gradescope import run_autograder

    sys.exit(0 if run_autograder(root) else 1)
