"""Apply several edits to a source text at once, and show the lines that they change."""

import io
import textwrap
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Edit:
    """A replacement of the text between two positions of a source; an insertion if they are equal.

    Args:
        file: the file, or the kernel's name for a cell.
        first, last: the start and end of the replaced text, each as (line from 1, character from 0).
        text: the new text.
    """

    file: str
    first: tuple[int, int]
    last: tuple[int, int]
    text: str


def apply_edits(source: str, edits: list[Edit]) -> str:
    """Apply edits, which must not overlap, to a text."""
    lines = source.split("\n")
    # From the end backward, so that earlier positions stay valid; edits at one position keep their order.
    for _number, edit in sorted(enumerate(edits), key=lambda pair: (pair[1].first, pair[0]), reverse=True):
        (line, column), (end_line, end_column) = edit.first, edit.last
        text = lines[line - 1][:column] + edit.text + lines[end_line - 1][end_column:]
        lines[line - 1 : end_line] = text.split("\n")
    return "\n".join(lines)


def changed_lines(text: Sequence[str], edits: list[Edit]) -> list[str]:
    """Return the lines that edits change, as they read after the edits, without common indentation."""
    groups: list[list[Edit]] = []
    for edit in sorted(edits):
        if groups and edit.first[0] <= max(e.last[0] for e in groups[-1]):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    lines: list[str] = []
    for group in groups:
        first, last = group[0].first[0], max(edit.last[0] for edit in group)
        kept = "\n".join(text[first - 1 : last])
        moved = [
            Edit(e.file, (e.first[0] - first + 1, e.first[1]), (e.last[0] - first + 1, e.last[1]), e.text)
            for e in group
        ]
        changed = textwrap.dedent(apply_edits(kept, moved)).strip("\n")
        removed_line = len(group) == 1 and not group[0].text and group[0].last[1] == 0
        inserted_lines = len(group) == 1 and group[0].text.endswith("\n") and group[0].last[1] == 0
        if inserted_lines:
            changed = textwrap.dedent(group[0].text).strip("\n")
        if not removed_line:
            lines += [line for line in changed.split("\n") if line.strip()]
    return [_without_comment(line) for line in lines]


def _without_comment(line: str) -> str:
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]].rstrip()
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return line.rstrip()
