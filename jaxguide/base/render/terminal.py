"""Lay out a card for a terminal."""

import io
import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jaxguide.base.render.card import Badge, Bar, CardFace, Code, Diff, Folded, Items, Pair, Part, Prose
from jaxguide.base.render.highlight import pieces
from jaxguide.base.render.line_diff import diff_rows

_COLOURS = {"good": "green", "partly": "yellow", "bad": "red", "quiet": ""}
_TOKENS = {"keyword": "bold", "string": "green", "number": "cyan", "comment": "dim", "builtin": "magenta"}
_INDENT = 2
_BAR_CELLS = 20
_LABEL = 8  # cells, as many as of "Expected"


@dataclass(frozen=True)
class Layout:
    """Lay out text for a terminal of `width` cells.

    Args:
        width: the width.
        ascii_only: whether to use only ASCII, for glyphs too.
        unfolded: whether to show what a notebook folds away.
    """

    width: int
    ascii_only: bool = False
    unfolded: bool = False

    def text(self, words: str, style: str = "") -> Text:
        if self.ascii_only:
            # A character that the terminal cannot show would raise an error.
            words = words.replace("…", "...").replace("·", "-").replace("\u2013", "-").replace("→", "->")
            words = words.encode("ascii", "backslashreplace").decode()
        return Text(words, style=style, overflow="fold")

    def badge(self, badge: Badge) -> Text:
        glyph = badge.ascii_glyph if self.ascii_only else badge.glyph
        return self.text(f"{glyph} {badge.word}", style=f"bold {_COLOURS[badge.tone]}".strip())

    def code(self, code: Code) -> Text:
        """Return a code with its marks, highlighted if it is Python."""
        found = Text(overflow="fold")
        for piece in pieces(code):
            style = f"{_TOKENS.get(piece.kind, '')}{' bold underline' if piece.is_marked else ''}".strip()
            found.append_text(self.text(piece.text, style=style))
        return found

    def diff(self, diff: Diff) -> RenderableType:
        """Return the lines of a diff; wrapped ones stay beside their margin."""
        rows = diff_rows(diff.text)
        return self.grid([(self.text(row.margin), self.code(Code(row.text, marked=row.marked))) for row in rows], gap=1)

    def bar(self, share: float, cells: int = _BAR_CELLS) -> Text:
        """Return a bar that shows a share from 0 to 1; it is full only at 1, and empty only at 0."""
        full = math.ceil(cells * share) if share < 0.5 else int(cells * share)
        filled, empty = ("#", "-") if self.ascii_only else ("█", "░")
        found = Text(overflow="fold")  # without a style, which would apply to all that follows
        found.append_text(self.text(filled * full, style="green"))
        return found.append_text(self.text(empty * (cells - full), style="dim"))

    def with_lines(self, fact: str, lines: tuple[str, ...]) -> RenderableType:
        """Put each line below the fact, after a dot that separates it from the previous one even if lines wrap."""
        if not lines:
            return self.text(fact)
        return Group(self.text(fact), self.grid([(self.text("·"), self.text(line)) for line in lines], gap=1))

    def grid(self, rows: Sequence[tuple[Text, RenderableType]], gap: int = 2) -> RenderableType:
        """Put labels to the left and texts to the right; wrapped texts stay in their column."""
        table = Table.grid(padding=(0, gap, 0, 0), expand=False)
        table.add_column(no_wrap=True, overflow="fold")
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*row)
        return self.indented(table)

    def indented(self, shown: RenderableType) -> RenderableType:
        return Padding(shown, (0, 0, 0, _INDENT), expand=False)


def card_lines(face: CardFace, layout: Layout) -> Iterator[RenderableType]:
    """Yield a card's head and its parts; labelled parts of a kind that follow each other stand in two columns."""
    if face.title:
        yield _head(face, layout)
    yield from _parts(face.parts, layout)


def _head(face: CardFace, layout: Layout) -> Text:
    head = Text(overflow="fold")
    if face.badge.word:
        head.append_text(layout.badge(face.badge)).append_text(layout.text(": ", style="bold"))
    head.append_text(layout.text(face.title, style="bold"))
    if face.name and face.name != face.title:
        head.append_text(layout.text(f" ({face.name})"))
    return head


def _parts(parts: Sequence[Part], layout: Layout) -> Iterator[RenderableType]:
    rows: list[tuple[Text, RenderableType]] = []
    before = False, False
    for part in parts:
        labelled = list(_labelled(part, layout))
        # Long labels, and those of sentences, take no room from values.
        is_apart = isinstance(part, Prose), any(cell_len(label.plain) > _LABEL for label, _shown in labelled)
        if rows and (not labelled or is_apart != before):
            yield layout.grid(rows)
            rows = []
        rows, before = rows + labelled, is_apart
        if not labelled:
            yield from _unlabelled(part, layout)
    if rows:
        yield layout.grid(rows)


def _labelled(part: Part, layout: Layout) -> Iterator[tuple[Text, RenderableType]]:
    """Yield the rows of a part that has labels: a label, and what it labels."""
    if isinstance(part, Prose) and part.label:
        yield layout.text(part.label, style="bold"), layout.text(part.text)
    elif isinstance(part, Code) and part.label and "\n" not in part.text:
        yield layout.text(part.label, style="bold"), layout.code(part)
    elif isinstance(part, Pair):
        yield from _pair_rows(part, layout)


def _unlabelled(part: Part, layout: Layout) -> Iterator[RenderableType]:
    if isinstance(part, Prose):
        yield layout.indented(layout.text(part.text))
    elif isinstance(part, Code):
        if part.label:
            yield layout.indented(layout.text(part.label, style="bold"))
        yield layout.indented(layout.indented(layout.code(part)))
    elif isinstance(part, Diff):
        yield layout.indented(layout.text(part.label, style="bold"))
        yield layout.indented(layout.diff(part))
    elif isinstance(part, Items):
        yield layout.grid([(layout.badge(i.badge), layout.with_lines(i.text, i.lines)) for i in part.items])
    elif isinstance(part, Bar):
        yield layout.indented(layout.bar(part.share).append_text(layout.text(f"  {part.text}")))
    elif isinstance(part, Folded):
        yield layout.indented(layout.text(part.title))
        if layout.unfolded:
            yield layout.indented(Group(*_parts(part.parts, layout)))


def _pair_rows(pair: Pair, layout: Layout) -> Iterator[tuple[Text, RenderableType]]:
    """Put both on one line if they fit, so that they are easy to compare; otherwise one below the other."""
    first, second = pair.first, pair.second
    if "\n" not in first.text + second.text:
        line = layout.code(first).append("   ")
        line.append_text(layout.text(second.label, style="bold")).append("  ").append_text(layout.code(second))
        label = max(cell_len(first.label), cell_len(second.label), 8)
        if _INDENT + label + 2 + cell_len(line.plain) <= layout.width:
            yield layout.text(first.label, style="bold"), line
            return
    for code in (first, second):
        yield layout.text(code.label, style="bold"), layout.code(code)


def plain_text(renderable: RenderableType, width: int | None) -> str:
    """Format a Rich renderable as plain text without colour, wrapped at `width`.

    By default, that is the terminal's, but between 40 and 120 so that lines are easy to read.
    """
    out = io.StringIO()
    width = width or max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))
    # Otherwise Rich would also display the text in a notebook, next to the card.
    console = Console(file=out, width=width, color_system=None, force_jupyter=False)
    console.print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
