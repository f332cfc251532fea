"""What several commands share: load the course or say why not, and print JSON alone."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from jaxguide import compat
from jaxguide.course.exercise import AuthorError
from jaxguide.course.library import Course, load_course

course_option = click.option(
    "--course",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A course's folder with exercises/ and solutions/; by default the one that comes with jaxguide.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON and nothing else.")


def read_course(folder: Path | None, *, keys: bool, as_json: bool = False) -> Course:
    """Load a course; where an author's mistake keeps it from loading, say so and end with status 1."""
    compat.set_print_flag()
    try:
        return load_course(folder, keys=keys)
    except AuthorError as error:
        if as_json:
            print_json({"problems": [{"path": str(error.path), "line": error.line, "message": error.message}]})
        else:
            click.echo(str(error), err=True)
        sys.exit(1)


def print_json(plain: Any) -> None:
    """Print a value as JSON on standard output."""
    click.echo(json.dumps(plain, indent=2, ensure_ascii=False))
