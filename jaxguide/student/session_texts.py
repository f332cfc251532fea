"""Write what a session shows in a terminal: an exercise as a student reads it, and the keys."""

import textwrap
from collections.abc import Iterator, Mapping

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.text import Text

from jaxguide.base.render.card import STATELESS, CardFace, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.base.render.terminal import Layout
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.statement import joined_lines
from jaxguide.course.exercise import Task

WIDEST = 120

KEYS = {
    "n": ("next", "Go to the next exercise that is not done."),
    "h": ("hint", "Read one more hint. It costs no points."),
    "s": ("solution", "Read the solution, once it is open."),
    "l": ("list", "List the lessons, and the exercises of this one."),
    "t": ("", "Read the whole task."),
    "r": ("reset", "Empty the function. Your answer is kept in another file."),
    "x": ("", "Stop the check that is running."),
    "?": ("help", "Show this list."),
    "q": ("quit", "Leave. What you have done is kept."),
    "Enter": ("", "Close what a key has shown."),
    "Space": ("", "Scroll down one page. Page Up and the arrow keys scroll, too."),
}
"""Each key with its name in the line of keys, if it is always there, and with what it does."""


def console() -> Console:
    """Return a console for the terminal, with lines that are short enough to read well."""
    found = Console(highlight=False, markup=False, emoji=False)
    found.width = min(found.width, WIDEST)
    return found


class ExerciseText:
    """An exercise as a student reads it before the first try: lesson and part, task, and where to answer.

    Args:
        exercise: the exercise.
        book: its lesson.
        where: a sentence that says which file to write in.
        place: where to write, for a first line that stands out, such as 'arrays.py (line 12)'.
    """

    def __init__(self, exercise: Task, book: Lesson, where: str = "", place: str = ""):
        self.exercise, self.book, self.where, self.place = exercise, book, where, place

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout, exercise = Layout(options.max_width, options.ascii_only), self.exercise
        head = layout.text(" · ".join([self.book.title, *exercise.headings]))
        if self.place:
            place = layout.text(f" {self.place} ")
            head.truncate(max(0, layout.width - place.cell_len), overflow="ellipsis", pad=True)
            head.append_text(place).stylize("reverse")
        yield head
        yield layout.text(exercise.full_title, style="bold").append_text(layout.text(f" ({exercise.worth})"))
        yield Text("")
        yield layout.indented(layout.text(f"{exercise.name}{exercise.signature}", style="bold"))
        yield Text("")
        for line in joined_lines(exercise.contract):
            words = layout.text(line.words or " ")
            yield Padding(layout.indented(words), (0, 0, 0, line.indent), expand=False)
        if self.where:
            yield Text("")
            yield layout.text(self.where)


def help_card(has_solutions: bool) -> CardView:
    """Return the card that says what each key does."""
    parts = [Prose(words, key) for key, (_name, words) in KEYS.items() if key != "s" or has_solutions]
    about = Prose("Whenever you save a notebook or a .py file, the answers that changed in it are checked.")
    return CardView(CardFace(STATELESS, "What each key does", parts=(*parts, about)))


def keys_line(names: Mapping[str, str], width: int) -> Text:
    """Return keys and their names, wrapped between keys only."""
    items = [f"{key} {name}".replace(" ", "\xa0") for key, name in names.items()]  # no line ends at such a space
    found = Text("\n".join(textwrap.wrap("  ".join(items), width)).replace("\xa0", " "), overflow="fold")
    found.highlight_regex(r"(^|(?<=  )|(?<=\n))\S+", "bold")
    return found
