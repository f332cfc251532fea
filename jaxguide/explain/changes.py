"""Show the lines that edits change, as they will read."""

import io
import textwrap
import tokenize

from jaxguide.explain.explanation import Edit, apply_edits
from jaxguide.explain.source import Source


def changed_lines(source: Source, edits: list[Edit]) -> list[str]:
    """Return the lines that edits change, as they will read, without common indentation."""

    groups: list[list[Edit]] = []
    for edit in sorted(edits):
        if groups and edit.first[0] <= max(e.last[0] for e in groups[-1]):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    lines: list[str] = []
    for group in groups:
        first, last = group[0].first[0], max(edit.last[0] for edit in group)
        kept = "\n".join(source.lines[first - 1 : last])
        moved = [
            Edit(e.file, (e.first[0] - first + 1, e.first[1]), (e.last[0] - first + 1, e.last[1]), e.text)
            for e in group
        ]
        text = textwrap.dedent(apply_edits(kept, moved)).strip("\n")
        removed_line = len(group) == 1 and not group[0].text and group[0].last[1] == 0
        inserted_lines = len(group) == 1 and group[0].text.endswith("\n") and group[0].last[1] == 0
        if inserted_lines:
            text = textwrap.dedent(group[0].text).strip("\n")
        if not removed_line:
            lines += [line for line in text.split("\n") if line.strip()]
    return [_without_comment(line) for line in lines]


def _without_comment(line: str) -> str:

    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]].rstrip()
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return line.rstrip()
