"""Summarize the results of several exercises for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from jaxguide.base.clean import clean
from jaxguide.base.render.terminal import Layout, plain_text
from jaxguide.base.text import plural
from jaxguide.course.cards.content import counts_of, exercise_badge, is_prediction
from jaxguide.course.verdict import ExerciseResult, Verdict


class LessonSummary:
    """The results of several exercises, one line each, and the number that passed."""

    def __init__(self, results: Sequence[ExerciseResult]):
        self.results = list(results)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout = Layout(options.max_width, options.ascii_only)
        table = Table.grid(padding=(0, 2, 0, 0))
        for is_name in (False, True, False):
            table.add_column(no_wrap=is_name and layout.width >= 60, overflow="fold")
        for result in self.results:
            table.add_row(
                layout.badge(exercise_badge(result)), layout.text(clean(result.name, 60)), layout.text(_counts(result))
            )
        yield table
        yield Text("")
        yield layout.text(self._total(), style="bold")

    def _total(self) -> str:
        total = len(self.results)
        done = sum(result.verdict is Verdict.PASSED for result in self.results)
        waiting = sum(result.verdict is Verdict.NOT_ATTEMPTED for result in self.results)
        words = [f"{done} of {total} exercises: visible checks passed."]
        if waiting:
            words.append(plural("{count} not started.", "{count} not started.", waiting))
        return " ".join(words)

    def text(self, width: int | None = None) -> str:
        """Return the summary as plain text, wrapped at `width`."""
        return plain_text(self, width)

    def __str__(self) -> str:
        return self.text()


def _counts(result: ExerciseResult) -> str:
    if result.verdict is Verdict.NOT_ATTEMPTED or is_prediction(result):
        return ""
    return counts_of(result)
