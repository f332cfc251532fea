"""The commands `export gradescope`, `export moodle` and `export canvas`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxguide.base.text import _, plural
from jaxguide.cli.common import begin_with_zygote, course_option, need_names, read_course

if TYPE_CHECKING:
    from jaxguide.grading.batch.batch_result import BatchResult


@click.group(short_help="Build a Gradescope autograder, or a gradebook for Moodle or Canvas.")
def export() -> None:
    """Build a Gradescope autograder, or write marks for Moodle or Canvas.

    \b
    Example: jaxguide export moodle results/
    """


_results = click.argument("results", type=click.Path(exists=True, path_type=Path), default=Path("results"))
_item = click.option("--item", default="jaxguide", show_default=True, help="The name of the item in the gradebook.")


def _out(default: str) -> Callable[[Any], Any]:
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=Path(default), show_default=True, help="The file to write.")


@export.command()
@_results
@_item
@click.option(
    "--students-are", default="Username", show_default=True, help="The Moodle field that identifies your students."
)
@_out("moodle.csv")
def moodle(results: Path, item: str, students_are: str, out: Path) -> None:
    """Write marks as a CSV file that Moodle imports. Students without a mark get an empty cell.

    \b
    Example: jaxguide export moodle results/ --item "Homework 1" --students-are "Email address"
    """
    from jaxguide.grading.reports.csv_tables import moodle_csv

    _write_gradebook(results, out, lambda batch: moodle_csv(batch, item, students_are))


@export.command()
@_results
@_item
@click.option(
    "--students-are",
    type=click.Choice(["SIS Login ID", "SIS User ID", "ID"]),
    default="SIS Login ID",
    show_default=True,
    help="The Canvas column that identifies your students.",
)
@_out("canvas.csv")
def canvas(results: Path, item: str, students_are: str, out: Path) -> None:
    """Write marks as a CSV file that Canvas imports. Students without a mark get an empty cell.

    \b
    Example: jaxguide export canvas results/ --item "Homework 1 (4711)"
    """
    from jaxguide.grading.reports.csv_tables import canvas_csv

    _write_gradebook(results, out, lambda batch: canvas_csv(batch, item, students_are))


def _write_gradebook(results: Path, out: Path, make: "Callable[[BatchResult], str]") -> None:
    from jaxguide.base.clean import clean
    from jaxguide.base.files import write_whole
    from jaxguide.grading.reports import NoResults, read_results
    from jaxguide.grading.reports.csv_tables import without_a_mark

    try:
        batch = read_results(results)
        write_whole(out, make(batch))
    except NoResults as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.ClickException(str(error)) from None
    click.echo(_("Written: {file}").format(file=out))
    empty = without_a_mark(batch)
    if empty:
        click.echo(plural("{count} student has no mark:", "{count} students have no mark:", len(empty)))
        for row in empty:
            click.echo(f"  {clean(row.student, 100)} ({row.state.value})")


@export.command()
@click.option("--seed", type=int, help="The seed of every random input; by default a new one, stored in the zip.")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Grade only this exercise; may be repeated.")
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
    only: tuple[str, ...],
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
    need_names(folder, only)
    from jaxguide.course.judging.draw import fresh_seed
    from jaxguide.course.limits import LimitsError, parse_limits
    from jaxguide.grading.exports.gradescope_harness import AutograderSettings
    from jaxguide.grading.exports.gradescope_zip import NoKey, autograder_zip

    course = read_course(folder, keys=True)
    try:
        settings = AutograderSettings(
            seed=fresh_seed() if seed is None else seed,
            only=only,
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
    message = _("Written: {file}. It contains the key and the seed {seed}, so keep it to yourself.")
    click.echo(message.format(file=out, seed=settings.seed))


def _requirement(text: str | None) -> Path | str | None:
    """Return the path of a wheel to put into the zip, or else a requirement that pip resolves."""
    if text is None or "://" in text or not text.endswith(".whl"):
        return text
    if not Path(text).is_file():
        message = _(
            "Wheel not found: {path}. Build one with `pip wheel --no-deps` and give its path, or give a "
            "requirement such as `jaxguide @ git+https://...`."
        )
        raise click.UsageError(message.format(path=text))
    return Path(text)


@export.command("fill-gradescope", hidden=True)
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
def fill_gradescope(root: Path) -> None:
    """Compile the course's programs while Gradescope builds its image; the zip's `setup.sh` calls this.

    \b
    Example: jaxguide export fill-gradescope /autograder
    """
    begin_with_zygote()
    from jaxguide.grading.exports.gradescope_harness import fill_autograder
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
    from jaxguide.grading.exports.gradescope_harness import run_autograder

    sys.exit(0 if run_autograder(root) else 1)
