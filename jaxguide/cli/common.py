"""What several commands share: load the course or say why not, and print JSON alone."""

import contextlib
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

# Nothing else here: a shell waits for this module at every Tab.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jaxguide.course.book import Book
    from jaxguide.course.exercise import Exercise
    from jaxguide.course.library import Course

Found = TypeVar("Found")

course_option = click.option(
    "--course",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A course's folder with exercises/ and solutions/; by default the one that comes with jaxguide.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON and nothing else.")


def read_course(folder: Path | None, *, keys: bool, as_json: bool = False) -> "Course":
    """Load a course; where an author's mistake keeps it from loading, say so and end with status 1."""
    from jaxguide import compat
    from jaxguide.course.exercise import AuthorError
    from jaxguide.course.library import load_course

    compat.set_print_flag()
    try:
        return load_course(folder, keys=keys)
    except AuthorError as error:
        if as_json:
            print_json({"problems": [{"path": str(error.path), "line": error.line, "message": error.message}]})
        else:
            click.echo(str(error), err=True)
        sys.exit(1)


@contextlib.contextmanager
def judged_course(folder: Path | None, *, as_json: bool) -> "Iterator[Course]":
    """Load a course with its keys, to run its answers inside the block: there each program is compiled once."""
    from jaxguide.course.compiled import compiled_once

    with compiled_once():
        yield read_course(folder, keys=True, as_json=as_json)


def begin_anew() -> None:
    """Go on in a process from which workers can be forked, where there is to be one; see `jaxguide.cli.anew`."""
    from jaxguide.cli.anew import begin_anew as begin

    begin(click.get_current_context().find_root().info_name or "jaxguide")


def start_zygote() -> bool:
    """Start what workers are forked from while the course loads; return False where each is a new Python."""
    from jaxguide.grading import spawning

    def start() -> None:
        with contextlib.suppress(OSError):  # the first worker says what is wrong
            spawning.the_zygote()

    if spawning.can_fork():
        threading.Thread(target=start, daemon=True).start()
    return spawning.can_fork()


def print_json(plain: Any) -> None:
    """Print a value as JSON on standard output."""
    click.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def workspace_of(course: "Course") -> Path:
    """Return the student's folder."""
    from jaxguide.course.workspace import find_workspace

    return find_workspace(course.books)


def need_lesson(course: "Course", name: str) -> "Book":
    """Return the lesson of this name, or end with a usage error that suggests the nearest."""
    return _need(course.lesson, name)


def need_exercise(course: "Course", name: str) -> "Exercise":
    """Return the exercise of this name, or end with a usage error that suggests the nearest."""
    return _need(course.exercise, name)


def _need(find: "Callable[[str], Found]", name: str) -> Found:
    from jaxguide.course.library import UnknownName

    try:
        return find(name)
    except UnknownName as error:
        raise click.UsageError(str(error)) from None


def complete_exercise(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the exercises whose names begin so, with their titles where the shell shows them."""
    from jaxguide.text import translated

    found = [(name, title) for name, title in _names(context)[0] if name.startswith(begun)]
    return [CompletionItem(name, help=translated(title)) for name, title in found]


def complete_lesson(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the lessons whose names begin so."""
    return [CompletionItem(name) for name in _names(context)[1] if name.startswith(begun)]


def _names(context: click.Context) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the names of a course's exercises, with titles, and lessons, without running its books."""
    from jaxguide.course.outline import outline
    from jaxguide.course.places import in_order, places

    given = context.params.get("folder")
    found: list[tuple[str, str]] = []
    books = in_order(places(Path(given) if given else None).exercises)
    for book in books:
        with contextlib.suppress(OSError, SyntaxError, ValueError):
            found += outline(book)
    return found, [book.stem for book in books]
