"""Lay out a card, or the summary of a lesson, for a terminal."""

import io
import shutil
from collections.abc import Iterator, Sequence
from textwrap import shorten

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.cards.content import Badge, CardRow, Content, counts_of, exercise_badge, is_prediction
from jaxguide.course.verdict import ExerciseResult, Verdict

_COLOURS = {"good": "green", "partly": "yellow", "bad": "red", "quiet": ""}
_INDENT = 2


class Layout:
    """Lay out text for a terminal of `width` cells; with `ascii_only`, use only ASCII, for glyphs too."""

    def __init__(self, width: int, ascii_only: bool = False):
        self.width = width
        self.ascii_only = ascii_only

    def text(self, words: str, style: str = "") -> Text:
        if self.ascii_only:
            # A character that the terminal cannot show would raise an error.
            words = words.replace("…", "...").replace("·", "-").replace("\u2013", "-").replace("→", "->")
            words = words.encode("ascii", "backslashreplace").decode()
        return Text(words, style=style, overflow="fold")

    def badge(self, badge: Badge) -> Text:
        glyph = badge.ascii_glyph if self.ascii_only else badge.glyph
        return self.text(f"{glyph} {badge.word}", style=f"bold {_COLOURS[badge.tone]}".strip())

    def with_cases(self, fact: str, cases: tuple[str, ...]) -> RenderableType:
        """Put each case below the fact, after a dot that separates it from the previous one even if lines wrap."""
        if not cases:
            return self.text(fact)
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for case in cases:
            table.add_row(self.text("·"), self.text(case))
        return Group(self.text(fact), table)

    def grid(self, rows: Sequence[tuple[Text, RenderableType]]) -> RenderableType:
        """Put labels to the left and texts to the right; wrapped texts stay in their column."""
        table = Table.grid(padding=(0, 2, 0, 0), expand=False)
        table.add_column(no_wrap=True, overflow="fold")
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*row)
        return Padding(table, (0, 0, 0, _INDENT))


def card_lines(content: Content, layout: Layout) -> Iterator[RenderableType]:
    """Yield the parts of a card: first at most five entries that say what to do next, then the details."""
    yield _head(content, layout)
    rows = list(_first_rows(content, layout))
    if any(label.plain for label, text in rows):
        yield layout.grid(rows)
    else:
        yield from (Padding(text, (0, 0, 0, _INDENT)) for label, text in rows)
    if content.checks or content.printed:
        yield Text("")
    if content.counts:
        yield Padding(layout.text(content.counts), (0, 0, 0, _INDENT))
    if content.checks:
        yield layout.grid(
            [(layout.badge(badge), layout.with_cases(fact, cases)) for badge, fact, cases in content.checks]
        )
    if content.printed:
        yield Text("")
        yield Padding(layout.text(content.printed.label, style="bold"), (0, 0, 0, _INDENT))
        yield Padding(layout.text(content.printed.text), (0, 0, 0, 2 * _INDENT))


def _head(content: Content, layout: Layout) -> Text:
    head = Text(overflow="fold")
    head.append_text(layout.badge(content.badge))
    head.append_text(layout.text(f": {content.title}", style="bold"))
    if content.name != content.title:
        head.append_text(layout.text(f" ({content.name})"))
    if content.failed:
        head.append_text(layout.text(f" · {content.failed}"))
    return head


def _first_rows(content: Content, layout: Layout) -> Iterator[tuple[Text, Text]]:
    for row in (content.on, content.call, content.got):
        if row:
            yield _row(row, layout)
    yield from _pair_rows(content.pair, layout)
    for row in content.error:
        yield _row(row, layout)
    why = " ".join(part for part in (content.message, content.idea) if part)
    if why:
        label = "Why" if content.failed else ""
        yield layout.text(label, style="bold"), layout.text(why)
    if content.misconceptions:
        yield _row(content.misconceptions, layout)
    if content.hint:
        yield _row(content.hint, layout)


def _row(row: CardRow, layout: Layout) -> tuple[Text, Text]:
    text = row.text
    if row.folded:
        text = shorten(text, 2 * (layout.width - len(row.label) - 2 * _INDENT), placeholder=" …")
    return layout.text(row.label, style="bold"), layout.text(text)


def _pair_rows(pair: tuple[CardRow, ...], layout: Layout) -> Iterator[tuple[Text, Text]]:
    """Put both rows on one line if they fit, so that they are easy to compare; otherwise one below the other."""
    if len(pair) == 2 and not any("\n" in row.text for row in pair):
        first, second = pair
        line = layout.text(f"{first.text}   ")
        line.append_text(layout.text(second.label, style="bold"))
        line.append_text(layout.text(f"  {second.text}"))
        label = max(cell_len(first.label), cell_len(second.label), 8)
        if _INDENT + label + 2 + cell_len(line.plain) <= layout.width:
            yield layout.text(first.label, style="bold"), line
            return
    for row in pair:
        yield _row(row, layout)


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


def terminal_width() -> int:
    """Return the width for text: the terminal's, but between 40 and 120 so that lines are easy to read."""
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))


def plain_text(renderable: RenderableType, width: int | None) -> str:
    """Format a Rich renderable as plain text without colour, wrapped at `width`."""
    out = io.StringIO()
    # Otherwise Rich would also display the text in a notebook, next to the card.
    console = Console(file=out, width=width or terminal_width(), color_system=None, force_jupyter=False)
    console.print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
