"""Render what a student's session shows: an exercise, the list of exercises, and the progress."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jaxguide.base.render.terminal import Layout
from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.statement import joined_lines
from jaxguide.course.exercise import Task
from jaxguide.course.progress import ExerciseProgress
from jaxguide.student.position import Counts, Position
from jaxguide.student.standing import badge_of


class Flow:
    r"""Text that is rewrapped for any width; Chinese and Japanese characters are as wide as two Latin letters.

    >>> from jaxguide.base.render.terminal import plain_text
    >>> print(plain_text(Flow("Add one\nto x.\n\nArgs:\n    x: float32[n],\n        any n."), 40))
    Add one to x.
    <BLANKLINE>
    Args:
        x: float32[n], any n.
    """

    def __init__(self, text: str, indent: int = 0):
        self.text, self.indent = text, indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout = Layout(options.max_width, options.ascii_only)
        for line in joined_lines(self.text):
            left = self.indent + line.indent
            if left > options.max_width // 2:
                left = self.indent
            yield Padding(layout.text(line.words), (0, 0, 0, left), expand=False) if line.words else Text("")


_WIDEST = 120


def console() -> Console:
    """Return a console for the terminal, with lines that are short enough to read well."""
    found = Console(highlight=False, markup=False, emoji=False)
    if found.width > _WIDEST:
        found.width = _WIDEST
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
        points = plural("{count} point", "{count} points", exercise.points)
        head = Text(overflow="fold").append_text(layout.text(exercise.full_title, style="bold"))
        head.append_text(layout.text(f" ({points})"))
        yield head
        yield Text("")
        yield Padding(layout.text(f"{exercise.name}{exercise.signature}", style="bold"), (0, 0, 0, 2), expand=False)
        yield Text("")
        yield Flow(exercise.contract, indent=2)
        if self.where:
            yield Text("")
            yield layout.text(self.where)


class ExerciseList:
    """Lessons with how much of each is done, and the exercises of some of them.

    Args:
        place: the student's place in the course.
        opened: the lessons shown with their exercises.
        closed: the lessons shown without.
    """

    def __init__(self, place: Position, opened: Sequence[Lesson], closed: Sequence[Lesson] = ()):
        self.place, self.opened, self.closed = place, opened, closed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout = Layout(options.max_width, options.ascii_only)
        current = self.place.current()
        books = [book for book in self.place.course.books.values() if book in self.opened or book in self.closed]
        for i, book in enumerate(books):
            if i and (book in self.opened or books[i - 1] in self.opened):
                yield Text("")
            counts = self.place.counts([book])
            head = Text(overflow="fold").append_text(layout.text(f"{book.title} ({book.topic})", style="bold"))
            head.append_text(layout.text(f"  {_done_of(counts)}"))
            yield head
            if book in self.opened:
                yield self._exercises(book, current, layout)

    def _exercises(self, book: Lesson, current: Task | None, layout: Layout) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        for is_narrow in (True, True, False, False):
            table.add_column(no_wrap=is_narrow, overflow="fold")
        arrow = ">" if layout.ascii_only else "→"
        everything = self.place.progress.everything()
        for exercise in book.exercises:
            is_here = current is not None and exercise.name == current.name
            table.add_row(
                layout.text(arrow if is_here else " ", style="bold"),
                layout.badge(badge_of(everything.get(exercise.name, ExerciseProgress()))),
                layout.text(exercise.name, style="bold" if is_here else ""),
                layout.text(exercise.title),
            )
        return table


class ProgressText:
    """A student's progress: a bar for each lesson, the points earned, and what to do next."""

    def __init__(self, place: Position, books: Sequence[Lesson], next_step: str):
        self.place, self.books, self.next_step = place, books, next_step

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout = Layout(options.max_width, options.ascii_only)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold")
        table.add_column(no_wrap=True)
        for _column in range(3):
            table.add_column(justify="right")
        heads = ("Lesson", "", "Exercises", "Points", "Hints")
        table.add_row(*(layout.text(head, style="bold") for head in heads))
        for book in self.books:
            counts = self.place.counts([book])
            table.add_row(
                layout.text(book.topic),
                layout.bar(counts.share),
                layout.text(_of(counts.done, counts.exercises)),
                layout.text(_of(counts.earned, counts.points)),
                layout.text(str(counts.hints)),
            )
        yield table
        yield Text("")
        total = self.place.counts(self.books)
        words = "{done} of {count} exercises done, {earned:g} of {points:g} points."
        said = words.format(done=total.done, count=total.exercises, earned=total.earned, points=total.points)
        yield layout.text(said, style="bold")
        yield layout.text(self.next_step)


def _of(part: float, whole: float) -> str:
    return f"{part:g} of {whole:g}"


def _done_of(counts: Counts) -> str:
    return f"{counts.done} of {counts.exercises} done"
