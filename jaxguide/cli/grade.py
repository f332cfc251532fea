"""The command of instructors: `grade`."""

import sys
from pathlib import Path

import click
from rich.console import Console

from jaxguide.cli.common import course_option, json_option, print_json, read_course
from jaxguide.text import _


@click.command(short_help="Grade notebooks, .py files and folders.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="PATH...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder for results.json and the students' feedback.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="What every random input derives from.")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Grade this exercise alone; may be repeated.")
@click.option("--all-or-nothing", is_flag=True, help="No partial marks.")
@course_option
@json_option
def grade(
    paths: tuple[Path, ...],
    out: Path,
    seed: int,
    only: tuple[str, ...],
    all_or_nothing: bool,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Grade submissions: notebooks, .py files, and folders of them.

    Each submission's code runs in processes of its own. Exit status: 0 when every submission passed every exercise, 1
    when one did not or could not be read, 2 for wrong usage.

    \b
    Example: jaxguide grade submission.ipynb another.py folder/
    """
    from jaxguide.course.card import clean
    from jaxguide.course.library import UnknownName
    from jaxguide.course.verdict import Verdict
    from jaxguide.grading import grade as grading
    from jaxguide.grading.remote import GraderError
    from jaxguide.grading.report import to_plain, write_reports
    from jaxguide.grading.table import GradeTable

    course = read_course(folder, keys=True, as_json=as_json)
    files = grading.find_submissions(paths)
    try:
        for name in only:
            course.exercise(name)
    except UnknownName as error:
        raise click.UsageError(str(error)) from None
    if not files:
        raise click.UsageError(_("There is no notebook (.ipynb) and no Python file (.py) in what was named."))
    notes = Console(stderr=True, highlight=False)
    results = []
    try:
        graded = grading.grade(
            files, course, seed=seed, all_or_nothing=all_or_nothing, only=only or None, conceal=[out]
        )
        with notes.status(_("Grading…")) as status:
            for result in graded:
                results.append(result)
                status.update(_("Graded {done} of {total}…").format(done=len(results), total=len(files)))
                if result.unreadable is not None:
                    notes.print(clean(f"{result.path}: {result.unreadable}"), markup=False, soft_wrap=True)
    except GraderError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    finally:
        if results:
            write_reports(results, out, ended_early=len(results) < len(files))
    if as_json:
        print_json(to_plain(results))
    else:
        Console().print(GradeTable(results))
        click.echo(_("Written: {file} and a feedback file for each student.").format(file=out / "results.json"))
    passed = all(r.is_complete and all(e.verdict is Verdict.PASSED for e in r.results) for r in results)
    sys.exit(0 if passed else 1)
