"""An exercise as students get it: what is printed of its cell."""

from jaxguide.course.book import Book
from jaxguide.course.declared import exercise_node, other_decorators
from jaxguide.course.exercise import Exercise
from jaxguide.course.pieces import said_in_code
from jaxguide.course.source import Cell
from jaxguide.text import _, plural, translated


def printable_source(book: Book, cell: Cell) -> str:
    """Return an exercise cell as students get it: title and points, no decorator of ours, `check(<name>)` below.

    Its words are in the reader's language.
    """
    node, _decorator = exercise_node(book.path, cell)
    lines = cell.source.split("\n")
    start = min(d.lineno for d in node.decorator_list)
    body = [*other_decorators(node, lines), *lines[node.lineno - 1 : node.end_lineno]]
    kept = [*lines[: start - 1], *body, *lines[node.end_lineno :]]
    exercise = next(e for e in book.exercises if e.name == node.name)
    return f"{_heading(exercise)}\n" + said_in_code("\n".join(kept).rstrip()) + f"\n\n\ncheck({node.name})"


def _heading(exercise: Exercise) -> str:
    title = translated(exercise.title)
    title = title if exercise.is_prediction else _("Exercise: {title}").format(title=title)
    points = plural("{count} point", "{count} points", exercise.points)
    return f"# {title} ({points})"
