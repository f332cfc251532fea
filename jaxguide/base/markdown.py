"""Wrap Markdown, so that its source is easy to read, too."""

import re
import textwrap
from collections.abc import Iterator

_INDENT = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?")
_FENCE = re.compile(_INDENT.pattern + "(```|~~~)")
# Headings and what underlines them, tables, quotes, HTML, link targets, rules and indented code.
_KEPT = re.compile(r"#+ |[-=]+\s*$|\s*[|><]|\[[^\]]+\]: |(?:[-*_] ?){3,}$|    |\t")
_TABLE = re.compile(r":?-+:?\s*\|")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
# At the start of a line, the next word would begin a list, a heading or a quote, or make a heading of the line above.
_NOT_FIRST = re.compile(r" (?=(?:[-*+=]+|\d+[.)]|#+)(?: |$)|>)")
_CODE = re.compile(r"(`+)[^`].*?(?<!`)\1(?!`)")
_GLUE = "\0"


def wrapped(markdown: str, width: int) -> str:
    r"""Wrap the paragraphs and list items that have a line longer than `width`, and leave everything else as it is.

    >>> print(wrapped("- An item that is long.\n- Two.\n\n| a table | that is wide |\n|---|---|", 15))
    - An item that
      is long.
    - Two.
    <BLANKLINE>
    | a table | that is wide |
    |---|---|
    """
    return "\n".join(
        line
        for is_text, lines in _blocks(markdown)
        for line in (_filled(lines, width) if is_text and _is_too_long(lines, width) else lines)
    )


def _blocks(markdown: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield whether lines are text to wrap, and the lines: those of a paragraph or list item, or one other line."""
    block: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        continues = bool(block) and line.startswith("    ")
        is_text = bool(line.strip()) and not (fence or mark or (_KEPT.match(line) and not continues))
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        if block and (not is_text or _ITEM.match(line)):
            yield True, block
            block = []
        if not is_text:
            yield False, [line]
            continue
        block.append(line)
        if line.endswith(("  ", "\\")):  # a line break that is meant
            yield True, block
            block = []
    if block:
        yield True, block


def _is_too_long(lines: list[str], width: int) -> bool:
    return max(map(len, lines)) > width and not any(_TABLE.match(line) for line in lines)


def _filled(lines: list[str], width: int) -> list[str]:
    indent = _INDENT.match(lines[0])
    assert indent is not None
    last = lines[-1]
    words = " ".join([lines[0][indent.end() :].strip(), *(line.strip() for line in lines[1:])])
    words = _CODE.sub(lambda code: code[0].replace(" ", _GLUE), _NOT_FIRST.sub(_GLUE, words))
    found = textwrap.wrap(
        words,
        width,
        initial_indent=indent[0],
        subsequent_indent=" " * len(indent[0]),
        break_long_words=False,
        break_on_hyphens=False,
    )
    found[-1] += last[len(last.rstrip(" ")) :]
    return [line.replace(_GLUE, " ") for line in found]
