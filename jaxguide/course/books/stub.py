"""An exercise as students get it: what is printed of its cell."""

from jaxguide.base.text import _, plural, translated
from jaxguide.course.books.translatable import said_in_code
from jaxguide.course.exercise import Task


def printable_source(exercise: Task) -> str:
    """Return an exercise cell as students get it: title and points, no decorator of ours, `check(<name>)` below.

    Its words are in the reader's language.
    """
    return f"{_heading(exercise)}\n" + said_in_code(exercise.cell_source) + f"\n\n\ncheck({exercise.name})"


def _heading(exercise: Task) -> str:
    title = translated(exercise.title)
    title = title if exercise.is_prediction else _("Exercise: {title}").format(title=title)
    points = plural("{count} point", "{count} points", exercise.points)
    return f"# {title} ({points})"
