"""Show a student's progress in a lesson: a bar, its exercises, points, hints read, and what to do next."""

import math
from collections.abc import Iterator
from html import escape
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jaxguide.base.render.card import Badge
from jaxguide.base.render.prose import prose_html
from jaxguide.base.render.terminal import Layout, plain_text
from jaxguide.base.render.theme import CODE, EDGES, WRAP, edge, frame
from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.exercise import Task
from jaxguide.course.progress import ExerciseProgress
from jaxguide.student.help import stuck

_BAR_CELLS = 20


class Standing:
    """A student's progress in one lesson, as text in a terminal and as a card in a notebook.

    Args:
        course: the course.
        book: the lesson.
        done: the progress in each exercise that was started.
        place: the student's last exercise, or None if it is not known.
    """

    def __init__(self, course: Outline, book: Lesson, done: dict[str, ExerciseProgress], place: str | None = None):
        self.course, self.book, self._done, self._place = course, book, done, place

    def of(self, exercise: Task) -> ExerciseProgress:
        """Return the progress in one exercise."""
        return self._done.get(exercise.name, ExerciseProgress())

    def next_step(self) -> str:
        """Return a sentence that names the next exercise that is not done, or else the next lesson."""
        names = [exercise.name for exercise in self.book.exercises]
        at = names.index(self._place) if self._place in names else 0
        waiting = sorted(self._waiting(self.book), key=lambda exercise: names.index(exercise.name) < at)
        if waiting:
            exercise = waiting[0]
            said = f"Next: {exercise.title} (`{exercise.name}`)."
            if self.of(exercise).attempts:
                said = f"{said} {stuck(exercise, 'notebook')}".rstrip()
            return said
        topics = list(self.course.books)
        at = topics.index(self.book.topic)
        for topic in topics[at + 1 :] + topics[:at]:
            if self._waiting(self.course.books[topic]):
                return f"This lesson is done. Next lesson: `{topic}`."
        return "All lessons are done."

    def _waiting(self, book: Lesson) -> list[Task]:
        return [exercise for exercise in book.exercises if not self.of(exercise).passed]

    def _totals(self) -> tuple[str, str]:
        """Return how many exercises are done, and the points and hints, in words."""
        exercises = self.book.exercises
        passed = [exercise for exercise in exercises if self.of(exercise).passed]
        points, hints = sum(e.points for e in exercises), sum(self.of(e).hints for e in exercises)
        done = plural("{{done}} of {count} exercise done", "{{done}} of {count} exercises done", len(exercises))
        words = "{earned:g} of {points:g} points · {hints}"
        read = plural("{count} hint read", "{count} hints read", hints)
        return (
            done.format(done=len(passed)),
            words.format(earned=sum(e.points for e in passed), points=points, hints=read),
        )

    def _share(self) -> float:
        return sum(self.of(e).passed for e in self.book.exercises) / max(1, len(self.book.exercises))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout = Layout(options.max_width, options.ascii_only)
        done, points = self._totals()
        yield layout.text(f"{self.book.title} ({self.book.topic})", style="bold")
        filled, empty = ("#", "-") if layout.ascii_only else ("█", "░")
        # The bar is full only if all exercises are done, and empty only if none is.
        full = math.ceil(_BAR_CELLS * self._share()) if self._share() < 0.5 else int(_BAR_CELLS * self._share())
        bar = Text(overflow="fold").append_text(layout.text(filled * full, style="green"))
        bar.append_text(layout.text(empty * (_BAR_CELLS - full), style="dim"))
        yield bar.append_text(layout.text(f"  {done} · {points}"))
        yield Text("")
        table = Table.grid(padding=(0, 2, 0, 0))
        for is_narrow in (True, True, False, True):
            table.add_column(no_wrap=is_narrow, overflow="fold")
        for exercise in self.book.exercises:
            more = self._details(exercise)
            words = [layout.text(text) for text in (exercise.name, exercise.title, more)]
            table.add_row(layout.badge(badge_of(self.of(exercise))), *words)
        yield Padding(table, (0, 0, 0, 2), expand=False)
        yield Text("")
        yield layout.text(self.next_step().replace("`", ""))

    def _details(self, exercise: Task) -> str:
        found = [plural("{count} point", "{count} points", exercise.points)]
        if hints := self.of(exercise).hints:
            found.append(plural("{count} hint", "{count} hints", hints))
        return " · ".join(found)

    def text(self, width: int | None = None) -> str:
        """Return the progress as plain text without color, with lines of at most `width` characters."""
        return plain_text(self, width)

    def html(self) -> str:
        """Return the progress as HTML with inline styles, for light and dark themes."""
        done, points = self._totals()
        title = escape(self.book.title)
        own, theme = EDGES["good"]
        quiet_own, quiet = EDGES["quiet"]
        block = "margin:0.35em 0;padding:0"
        bar = (
            f'<div style="{block};max-width:24em;height:0.7em;border:1px solid {quiet_own};border-color:{quiet}">'
            f'<div style="height:100%;width:{100 * self._share():.0f}%;background-color:{own};'
            f'background-color:{theme}"></div></div>'
        )
        items = "".join(self._item(exercise) for exercise in self.book.exercises)
        return (
            f'<section style="{frame("good" if self._share() == 1 else "quiet")}">'
            f'<p style="{block}"><strong>{title}</strong>: {escape(done)} · {escape(points)}</p>'
            f'{bar}<ul style="{block};list-style-type:none">{items}</ul>'
            f'<p style="{block};{WRAP}">{prose_html(self.next_step())}</p></section>'
        )

    def _item(self, exercise: Task) -> str:
        badge = badge_of(self.of(exercise))
        return (
            f'<li style="margin:0.15em 0;padding:0 0 0 0.6em;{edge(badge.tone, 3)}">'
            f"{escape(badge.glyph)} <strong>{escape(badge.word)}</strong> · "
            f'<code style="{CODE}">{escape(exercise.name)}</code> {escape(exercise.title)} · '
            f"{escape(self._details(exercise))}</li>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}

    def __repr__(self) -> str:
        return self.text()


def badge_of(done: ExerciseProgress) -> Badge:
    """Return a student's progress in an exercise as a glyph and a word.

    >>> badge_of(ExerciseProgress(attempts=["a"])).word
    'tried'
    """
    if done.passed:
        return Badge("✓", "+", "done", "good")
    if done.attempts:
        return Badge("◐", "~", "tried", "partly")
    return Badge("○", "o", "new", "quiet")
