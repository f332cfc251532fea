"""The command `report`: write the reports of a graded class again."""

from pathlib import Path

import click

from jaxguide.cli.common import Unusable, course_option, read_course


@click.command(short_help="Write the reports again, without grading.")
@click.argument("results", type=click.Path(exists=True, path_type=Path), default=Path("results"))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write to another folder.")
@click.option("--names", is_flag=True, help="Name the students who met each misconception in report.html.")
@click.option("--reveal", is_flag=True, help="Show students the details of hidden checks, too.")
@click.option(
    "--overrides",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="Points that you give by hand, in the columns student, exercise, points and comment; by default "
    "RESULTS/overrides.csv, if it exists.",
)
@course_option
def report(
    results: Path, out: Path | None, names: bool, reveal: bool, overrides: Path | None, folder: Path | None
) -> None:
    """Write a graded class's tables, feedback pages and report.html again, without grading.

    RESULTS is the folder that `grade` wrote (by default `results`), or a results.json.

    \b
    Example: jaxguide report results/ --names
    """
    from jaxguide.grading.batch.grade_class import OVERRIDES_NAME
    from jaxguide.grading.intake.instructor_tables import TableError, read_overrides, require_students
    from jaxguide.grading.intake.student_names import ClassList, Person
    from jaxguide.grading.reports import write_reports
    from jaxguide.grading.reports.results_json import NoResults, read_results, recorded_course

    home = results if results.is_dir() else results.parent
    if overrides is None and results.is_dir() and (home / OVERRIDES_NAME).is_file():
        overrides = home / OVERRIDES_NAME
    try:
        given = None
        if overrides is not None:
            folder = folder or recorded_course(results)
            if folder is not None and not folder.is_dir():
                raise click.UsageError(
                    f"The class was graded with the course `{folder}`, which is missing. Give its folder with --course."
                )
            given = read_overrides(overrides, read_course(folder, keys=False))
        batch = read_results(results, given)
        if given is not None and overrides is not None:
            people = [Person(one.student, batch.ids.get(one.student, {})) for one in batch.submissions]
            require_students(given, ClassList(tuple({one.name: one for one in people}.values())), overrides)
        files = write_reports(batch, out or home, reveal=reveal, names=names)
    except (NoResults, TableError) as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise Unusable(f"The reports cannot be written: {error}.") from None
    written = next(file for file in files if file.name == "report.html")
    click.echo(f"Written: {written}, tables, and a feedback page for each student.")
