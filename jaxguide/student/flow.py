"""Fit a docstring's text to a terminal: join what its author wrapped, keep its indents and its examples."""

import re
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.text import Text

from jaxguide.course.cards.terminal import Layout

# A line that begins something: a list's entry, a table's row, or, where it is indented, names with a colon behind them.
_STARTS = re.compile(r"[-*|#] |\d+\. ")
_COLONS = (":", "：")  # Chinese and Japanese have their own
_NAMES = re.compile(r"`?\*{0,2}\w+`?(?:, `?\*{0,2}\w+`?)*(?: \([^)]*\))?(?::\s|：)")


class Flow:
    r"""Text that is wrapped anew for any width, Chinese and Japanese at twice the cells of Latin letters.

    >>> from jaxguide.course.cards.terminal import to_text
    >>> print(to_text(Flow("Add one\nto x.\n\nArgs:\n    x: float32[n],\n        any n."), 40))
    Add one to x.
    <BLANKLINE>
    Args:
        x: float32[n], any n.
    """

    def __init__(self, text: str, indent: int = 0):
        self.text, self.indent = text, indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout = Layout(options.max_width, options.ascii_only)
        for indent, line in joined_lines(self.text):
            left = self.indent + indent
            if left > options.max_width // 2:
                left = self.indent
            yield Padding(layout.text(line), (0, 0, 0, left), expand=False) if line else Text("")


def joined_lines(text: str) -> list[tuple[int, str]]:
    r"""Return a text's lines as (indent, words), with the lines of one paragraph or entry joined.

    >>> joined_lines("Do this,\nthen that:\n\n    >>> f(1)\n    2")
    [(0, 'Do this, then that:'), (0, ''), (4, '>>> f(1)'), (4, '2')]
    """
    found: list[tuple[int, str]] = []
    is_verbatim = False
    last_indent = 0
    for line in text.strip("\n").splitlines():
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        if not words:
            is_verbatim = is_verbatim and indent > 0
            found.append((0, ""))
            continue
        is_code = words.startswith(">>>") or words.startswith("```")
        is_verbatim = is_code or (is_verbatim and bool(found) and found[-1][1] != "")
        follows = bool(found) and found[-1][1] != "" and not is_verbatim and not _STARTS.match(words)
        follows = follows and not (indent and _NAMES.match(words))
        is_same = indent == last_indent
        # A deeper line goes on with the entry above, unless that one is a heading such as `Args:`.
        is_hanging = follows and indent > found[-1][0] and not found[-1][1].endswith(_COLONS)
        if follows and (is_same or is_hanging) and not _is_heading(found[-1], indent):
            before, said = found[-1]
            found[-1] = (before, f"{said}{_space(said, words)}{words}")
        else:
            found.append((indent, words))
        last_indent = indent
    return found


def _is_heading(line: tuple[int, str], indent: int) -> bool:
    return line[1].endswith(_COLONS) and indent > line[0]


def _space(before: str, after: str) -> str:
    """Return what stands between two joined lines: nothing between Chinese or Japanese characters."""
    return "" if ord(before[-1]) > 0x2E7F and ord(after[0]) > 0x2E7F else " "
