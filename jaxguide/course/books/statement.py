"""Read what an exercise asks for from its docstring: as Markdown, in one sentence, and line by line."""

import ast
import itertools
import re
import textwrap
from typing import NamedTuple

from jaxguide.base.markdown import wrapped
from jaxguide.base.text import plural
from jaxguide.course.exercise import Task

WIDTH = 88
"""The longest line of text in a printed lesson."""
_FENCE = "```"
# Lines that begin an entry: of a list, of a table, or, if they are indented, names followed by a colon.
_STARTS = re.compile(r"[-*|#] |\d+\. ")
_COLONS = (":", "：")  # the second is for Chinese and Japanese
_NAMES = re.compile(r"(`?\*{0,2}\w+`?(?:, `?\*{0,2}\w+`?)*)(?: \([^)]*\))?(?::\s|：)")
_SECTION = re.compile(r"\w+(?: \w+)?[:：]$")
_SENTENCE = re.compile(r"(?:`[^`]*`|[^`])+?(?:(?<!e\.g)(?<!i\.e)[.?!](?=\s+[^a-z]|$)|[\u3002\uff01\uff1f])")
# What Markdown takes for HTML or emphasis: `key<fry>[]`, `2**31`, `__name__`, `*args`.
_MARKUP = re.compile(r"<[A-Za-z/!]|\w\*+\w|^__\w+__|^\*{1,2}\w+$")


def statement(task: Task) -> str:
    """Return what an exercise asks for as Markdown: title and points, then the docstring."""
    points = plural("{count} point", "{count} points", task.points)
    lines = [f"### {task.full_title} ({points})", "", *_markdown_lines(joined_lines(task.contract))]
    return wrapped("\n".join(lines).rstrip(), WIDTH - len("# "))  # a `.py` has Markdown in comments


def stub_cell(task: Task) -> str:
    """Return the code of an exercise's cell with only the first sentence of its docstring, the rest as in the book."""
    body = ast.parse(task.cell_source).body
    function = next(node for node in body if isinstance(node, ast.FunctionDef) and node.name == task.name)
    sentence, docstring = first_sentence(task.contract), function.body[0]
    lines = task.cell_source.split("\n")
    start, end = docstring.lineno - 1, docstring.end_lineno or 0
    indent = " " * docstring.col_offset
    has_own_lines = lines[start].startswith(indent) and lines[end - 1].rstrip().endswith(('"""', "'''"))
    if not (sentence and has_own_lines) or '"""' in sentence:
        return task.cell_source
    return "\n".join([*lines[:start], *_docstring(sentence, indent), *lines[end:]])


def _docstring(sentence: str, indent: str) -> list[str]:
    opening = ('r"""' if "\\" in sentence else '"""') + sentence
    if len(indent + opening) <= WIDTH - 3 and not sentence.endswith(('"', "\\")):
        return [f'{indent}{opening}"""']
    return [f"{indent}{line}" for line in (*wrapped(opening, WIDTH - len(indent)).split("\n"), '"""')]


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, '' if it begins with code.

    >>> first_sentence("Add one to `x. Y`,\\nas e.g. NumPy does. Return it.")
    'Add one to `x. Y`, as e.g. NumPy does.'
    """
    first = next(iter(joined_lines(text)), None)
    if first is None or first.is_code:
        return ""
    found = _SENTENCE.match(first.words)
    return found[0] if found else first.words


class DocLine(NamedTuple):
    """A paragraph, entry or line of code in a docstring."""

    indent: int
    words: str
    is_code: bool = False


def joined_lines(text: str) -> list[DocLine]:
    r"""Return a docstring's lines, with those of each paragraph or entry joined.

    >>> [tuple(line) for line in joined_lines("Do this,\nthen that:\n\n    >>> f(1)\n    2")]
    [(0, 'Do this, then that:', False), (0, '', False), (4, '>>> f(1)', True), (4, '2', True)]
    """
    found: list[DocLine] = []
    last_indent = 0
    lines = text.strip("\n").splitlines()
    code = _code_lines(lines)
    for number, line in enumerate(lines):
        words, indent = line.strip(), _indent(line)
        before = found[-1] if found else DocLine(0, "")
        if not words or number in code:
            found.append(DocLine(indent if words else 0, words, number in code))
            continue
        follows = bool(before.words) and not before.is_code and not _STARTS.match(words)
        follows = follows and not (indent and _NAMES.match(words))
        is_same = indent == last_indent
        # A deeper line continues the entry above, unless that is a heading such as `Args:`.
        is_hanging = follows and indent > before.indent and not before.words.endswith(_COLONS)
        if follows and (is_same or is_hanging) and not _is_heading(before, indent):
            found[-1] = DocLine(before.indent, f"{before.words}{_space(before.words, words)}{words}")
        else:
            found.append(DocLine(indent, words))
        last_indent = indent
    return found


def _code_lines(lines: list[str]) -> set[int]:
    """Return which lines are code: examples, fenced code, and what is indented below an empty line."""
    found: set[int] = set()
    is_fenced = is_example = False
    outer = block = 0  # the indent of the text above, and of the block of code
    for number, line in enumerate(lines):
        words, indent = line.strip(), _indent(line)
        if is_fenced or words.startswith(_FENCE):
            is_fenced ^= words.startswith(_FENCE)
            found.add(number)
            continue
        is_example = bool(words) and (is_example or words.startswith(">>>"))
        if words and indent < block:
            block = 0
        is_apart = number > 0 and not lines[number - 1].strip()
        if words and is_apart and indent >= outer + 4 and not (_STARTS.match(words) or _NAMES.match(words)):
            block = block or indent
        if is_example or block:
            found.add(number)
        elif words:
            outer = indent
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_heading(line: DocLine, indent: int) -> bool:
    return line.words.endswith(_COLONS) and indent > line.indent


def _space(before: str, after: str) -> str:
    """Return the separator of two joined lines: a space, but nothing between Chinese or Japanese characters."""
    return "" if ord(before[-1]) > 0x2E7F and ord(after[0]) > 0x2E7F else " "


def _markdown_lines(lines: list[DocLine]) -> list[str]:
    """Return a docstring as lines of Markdown, in which `Args:` is bold and its entries are a list."""
    found: list[str] = []
    code: list[DocLine] = []
    is_section = is_item = False  # what the last line was
    base = 0  # the indent of what stands below the last heading
    for line, after in itertools.pairwise([*lines, DocLine(0, "")]):
        if line.is_code:
            code.append(line)
            if not after.is_code:
                found += ["", *_fenced(code), ""]
                is_section, is_item, code = False, False, []
            continue
        was_item, entry = is_item, _NAMES.match(line.words) if line.indent else None
        is_item = bool(entry or _STARTS.match(line.words))
        base = min(base, line.indent)
        if _SECTION.match(line.words) and after.words and after.indent > line.indent:
            found += ["", f"**{line.words}**"]
            is_section, base = True, after.indent
            continue
        words = _with_code(line.words)
        if entry:
            names = re.sub(r"`?(\*{0,2}\w+)`?", r"`\1`", entry[1])
            words = f"- {names}{_with_code(line.words[entry.end(1) :])}"
        if is_section and line.words and not is_item:
            found[-1] += f" {words}"
        else:
            found += [*([] if was_item and is_item else [""]), f"{'  ' if line.indent > base else ''}{words}"]
        is_section = False
    return [line for line, before in zip(found, ["", *found], strict=False) if line or before]


def _fenced(lines: list[DocLine]) -> list[str]:
    code = textwrap.dedent("\n".join(" " * line.indent + line.words for line in lines)).strip("\n")
    return code.split("\n") if code.startswith(_FENCE) else [f"{_FENCE}python", *code.split("\n"), _FENCE]


def _with_code(words: str) -> str:
    """Return Markdown in which what looks like markup is code, but shows as written: `key<fry>[]`."""
    parts = re.split(r"(`[^`]*`)", words)
    return "".join(part if part.startswith("`") else re.sub(r"\S+", _as_code, part) for part in parts)


def _as_code(match: re.Match[str]) -> str:
    core = match[0].strip(".,;:()")
    core += ")" if core.count("(") > core.count(")") and f"{core})" in match[0] else ""
    return match[0].replace(core, f"`{core}`", 1) if _MARKUP.search(core) else match[0]
