"""Render an exercise in a terminal as a student reads it before the first try."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.text import Text

from jaxguide.base.render.terminal import Layout
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.statement import joined_lines
from jaxguide.course.exercise import Task


def console() -> Console:
    """Return a console for the terminal, with lines that are short enough to read well."""
    found = Console(highlight=False, markup=False, emoji=False)
    found.width = min(found.width, 120)
    return found


class ExerciseText:
    """An exercise as a student reads it before the first try: lesson and part, task, and where to answer.

    Args:
        exercise: the exercise.
        book: its lesson.
        where: a sentence that says which file to write in.
    """

    def __init__(self, exercise: Task, book: Lesson, where: str = ""):
        self.exercise, self.book, self.where = exercise, book, where

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout, exercise = Layout(options.max_width, options.ascii_only), self.exercise
        yield layout.text(" · ".join([self.book.title, *exercise.headings]))
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
