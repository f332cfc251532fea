"""Write how lines differ as text, much as `difflib.ndiff` does, and read it again to lay it out.

A line begins with `- ` if only the first text has it, with `+ ` if only the second has it, and else with two spaces. A
line that begins with `? ` has a `^` below each character to mark in the line above.
"""

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_ROWS = 7  # that are shown
_SIDE = 3  # rows for lines that only one text has
_COMPARED = 40  # lines of each text, from the first that differs
_LENGTH = 100  # characters of a line
_BEFORE = 40  # characters of a longer line before the first that differs
_ALIKE = 0.5  # lines that have less in common are marked nowhere: no single character is the mistake


@dataclass(frozen=True)
class DiffRow:
    """A line of a diff: '-', '+' or ' ' in the margin, and the ranges of its characters to mark."""

    margin: str
    text: str
    marked: tuple[tuple[int, int], ...] = ()


def line_diff(first: Sequence[str], second: Sequence[str]) -> str:
    r"""Return how two lists of lines differ, as far as a card has room; lines that are equal in both are few.

    >>> print(line_diff(["a", "b = f x", "c"], ["a", "b = f(x)", "c"]))
      a
    - b = f x
    ?      ^
    + b = f(x)
    ?      ^ ^
      c
    """
    ours, theirs = [_printable(line) for line in first], [_printable(line) for line in second]
    before = _common(ours, theirs)
    after = _common(ours[before:][::-1], theirs[before:][::-1])
    changed = ours[before : len(ours) - after], theirs[before : len(theirs) - after]
    rows = [DiffRow(" ", line) for line in ours[:before]]
    rows += _changed(*(lines[:_COMPARED] for lines in changed))
    is_cut = max(map(len, changed)) > _COMPARED
    rows += [DiffRow(" ", line) for line in (["…"] if is_cut else ours[len(ours) - after :])]
    shown = list(_without_far_lines(rows))
    if len(shown) > _ROWS:
        shown = [*shown[: _ROWS - 1], DiffRow(" ", f"… {len(shown) - _ROWS + 1} more lines")]
    return "\n".join(line for row in shown for line in _written(row))


def marked_apart(first: str, second: str, words: bool = False) -> list[tuple[tuple[int, int], ...]]:
    """Return the ranges of characters in each text that the other has not, none if they have little in common.

    >>> marked_apart("f(x)", "f(y)")
    [((2, 3),), ((2, 3),)]
    >>> marked_apart("[1, 2, 2]", "[1, 20, 3]", words=True)
    [((4, 5), (7, 8)), ((4, 6), (8, 9))]
    >>> marked_apart("(3, 3)", "[3, 1]", words=True)
    [((4, 5),), ((4, 5),)]
    """
    parts = [re.findall(r"[\w.+-]+|.", text, re.DOTALL) if words else list(text) for text in (first, second)]
    matcher = difflib.SequenceMatcher(None, parts[0], parts[1], autojunk=False)
    if matcher.ratio() < _ALIKE:
        return [(), ()]
    changed = [list(ends) for tag, *ends in matcher.get_opcodes() if tag != "equal"]
    if words and len(parts[0]) == len(parts[1]):  # as of two lists, whose elements stand in the same places
        # Whether a result is a list or a tuple rarely matters; where it does, the message says so.
        pairs = [(one.strip("()[]"), other.strip("()[]")) for one, other in zip(*parts, strict=True)]
        changed = [[at, at + 1, at, at + 1] for at, (one, other) in enumerate(pairs) if one != other]
    ends = [[len("".join(parts[place // 2][:end])) for place, end in enumerate(one)] for one in _joined(changed)]
    return [tuple((one[side], one[side + 1]) for one in ends if one[side] < one[side + 1]) for side in (0, 2)]


def _joined(changed: list[list[int]]) -> list[list[int]]:
    """Join long changes that only a few characters lie between, which are then equal by chance."""
    found: list[list[int]] = []
    for one in changed:
        if found:
            last = found[-1]
            sizes = [max(ends[1] - ends[0], ends[3] - ends[2]) for ends in (last, one)]
            if 4 * (one[0] - last[1]) <= min(sizes):
                found[-1] = [last[0], one[1], last[2], one[3]]
                continue
        found.append(one)
    return found


def diff_rows(text: str) -> list[DiffRow]:
    """Return the lines of a diff that `line_diff` wrote.

    >>> diff_rows("- ab\\n?  ^\\n+ ac")
    [DiffRow(margin='-', text='ab', marked=((1, 2),)), DiffRow(margin='+', text='ac', marked=())]
    """
    rows: list[DiffRow] = []
    for line in text.split("\n"):
        if line.startswith("? ") and rows:
            rows[-1] = replace(rows[-1], marked=tuple(found.span() for found in re.finditer(r"\^+", line[2:])))
        else:
            rows.append(DiffRow(line[:1] or " ", line[2:]))
    return rows


def _printable(line: str) -> str:
    """Return a line with escapes for what nobody can see, such as a tab or a colour."""
    return line if line.isprintable() else repr(line)[1:-1]


def _common(ours: list[str], theirs: list[str]) -> int:
    """Return how many lines are equal from the first on."""
    return sum(1 for _equal in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))


def _changed(ours: list[str], theirs: list[str]) -> Iterator[DiffRow]:
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            yield from (DiffRow(" ", line) for line in ours[start:end])
            continue
        mine, others = ours[start:end], theirs[other_start:other_end]
        if len(mine) == len(others):
            for one, other in zip(mine, others, strict=True):
                yield from _pair(one, other)
        else:
            yield from _some("-", mine)
            yield from _some("+", others)


def _some(margin: str, lines: list[str]) -> Iterator[DiffRow]:
    """Yield the first lines, so that there is room for what the other text has in their place."""
    shown = lines if len(lines) <= _SIDE else lines[: _SIDE - 1]
    yield from (DiffRow(margin, line) for line in shown)
    if len(lines) > len(shown):
        yield DiffRow(margin, f"… {len(lines) - len(shown)} more")


def _pair(one: str, other: str) -> Iterator[DiffRow]:
    """Yield two lines that differ; of long ones, the part where they begin to differ."""
    start = 0
    if max(len(one), len(other)) > _LENGTH:
        start = max(0, _common(list(one), list(other)) - _BEFORE)
    texts = [("…" if start else "") + text[start : start + _LENGTH] for text in (one, other)]
    for margin, text, marked in zip("-+", texts, marked_apart(texts[0], texts[1]), strict=True):
        yield DiffRow(margin, text, marked)


def _without_far_lines(rows: list[DiffRow]) -> Iterator[DiffRow]:
    """Leave out equal lines unless they are next to a difference, or alone."""
    near = [any(other.margin != " " for other in rows[max(0, at - 1) : at + 2]) for at in range(len(rows))]
    left_out = 0
    for at, row in enumerate(rows):
        if not near[at]:
            left_out += 1
        if left_out and (at + 1 == len(rows) or near[at + 1]):
            yield row if left_out == 1 else DiffRow(" ", f"… {left_out} equal lines")
            left_out = 0
        elif near[at]:
            yield row


def _written(row: DiffRow) -> Iterator[str]:
    text = row.text if len(row.text) <= _LENGTH + 1 else row.text[:_LENGTH] + "…"
    yield f"{row.margin} {text}"
    if row.marked:
        below = [" "] * row.marked[-1][1]
        for start, end in row.marked:
            below[start:end] = "^" * (end - start)
        yield "? " + "".join(below)
