"""Read what an exercise asks for from its docstring: as Markdown, in one sentence, and line by line."""

import ast
import itertools
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from jaxguide.course.exercise import Task

_WIDTH = 88
# The beginnings of an entry: of a list or, if it is indented, names followed by a colon.
_STARTS = re.compile(r"[-*] |\d+\. ")
_COLONS = (":", "：")  # the second is for Chinese and Japanese
_NAMES = re.compile(r"(`?\*{0,2}\w+`?(?:, `?\*{0,2}\w+`?)*)(?: \([^)]*\))?(?::\s|：)")
_SECTION = re.compile(r"\w+(?: \w+)?[:：]$")
_SENTENCE = re.compile(r"(?:`[^`]*`|[^`])+?(?:(?<!e\.g)(?<!i\.e)[.?!](?=\s+[^a-z]|$)|[\u3002\uff01\uff1f])")
# What Markdown takes for HTML or emphasis: `key<fry>[]`, `2**31`, `__name__`, `*args`.
_MARKUP = re.compile(r"<[A-Za-z/!]|\w\*+\w|^__\w+__|^\*{1,2}\w+$")
# What stays on one line: code, and a word that would begin a list, a heading or a quote, with the one before it.
_UNBROKEN = re.compile(r"`[^`]*`| (?=(?:[-*+=#>]+|\d+[.)]) )")


def statement(task: Task) -> str:
    """Return what an exercise asks for as Markdown: title and points, then the docstring."""
    found = f"{heading(task)}{task.worth})"
    was_item = False
    for part in _parts(joined_lines(task.contract)):
        item = _STARTS.match(part)
        found += "\n" if was_item and item else "\n\n"
        found += part if part.startswith("```") else _wrapped(part, _WIDTH - len("# "), item[0] if item else "")
        was_item = item is not None
    return found


def heading(task: Task) -> str:
    """Return the beginning of a statement that no version of jaxguide prints differently."""
    return f"### {task.full_title} ("


def _wrapped(text: str, width: int, mark: str = "") -> str:
    """Wrap a paragraph, or below its text an entry of a list that begins with `mark`."""
    lines = textwrap.wrap(
        _UNBROKEN.sub(lambda part: part[0].replace(" ", "\0"), text.removeprefix(mark)),
        width,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")


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
    if len(indent + opening) <= _WIDTH - 3 and not sentence.endswith(('"', "\\")):
        return [f'{indent}{opening}"""']
    return [f"{indent}{line}" for line in (*_wrapped(opening, _WIDTH - len(indent)).split("\n"), '"""')]


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
    """A paragraph, entry or block of code in a docstring; `words` is '' between two of them."""

    indent: int
    words: str
    is_code: bool = False


def joined_lines(text: str) -> list[DocLine]:
    r"""Return a docstring's paragraphs, entries and blocks of code: examples, and what is indented below an empty line.

    >>> [tuple(line) for line in joined_lines("Do this,\nthen that:\n\n    >>> f(1)\n    2")]
    [(0, 'Do this, then that:', False), (0, '', False), (4, '>>> f(1)\n2', True)]
    """
    found = [DocLine(0, "")]
    code: int | None = None  # the indent of the code, in a block of code
    is_example = False
    last_indent = 0  # of text
    for line in text.strip("\n").splitlines():
        words, before = line.strip(), found[-1]
        indent = len(line) - len(line.lstrip()) if words else 0
        starts = bool(_STARTS.match(words) or (indent and _NAMES.match(words)))
        if code is not None and (indent < code if words else is_example):
            code = None
        if code is not None:
            found[-1] = DocLine(code, f"{before.words}\n{line[code:].rstrip()}", True)
            continue
        is_example = words.startswith(">>>")
        if is_example or (not before.words and indent >= last_indent + 4 and not starts):
            code = indent
            found.append(DocLine(indent, words, True))
            continue
        # A deeper line continues the entry above, unless that is a heading such as `Args:`.
        is_deeper = indent > before.indent
        follows = bool(before.words and words) and not before.is_code and not starts
        if follows and (not before.words.endswith(_COLONS) if is_deeper else indent == last_indent):
            found[-1] = DocLine(before.indent, f"{before.words} {words}")
        else:
            found.append(DocLine(indent, words))
        last_indent = indent if words else last_indent
    return found[1:]


def _parts(lines: list[DocLine]) -> Iterator[str]:
    """Yield a docstring's paragraphs, entries and code as Markdown, in which `Args:` is bold above a list."""
    section = ""
    for line, after in itertools.pairwise([*lines, DocLine(0, "")]):
        entry = _NAMES.match(line.words) if line.indent and not line.is_code else None
        if section and (line.is_code or entry or _STARTS.match(line.words)):
            yield section
            section = ""
        if line.is_code:
            yield f"```python\n{line.words.rstrip()}\n```"
        elif _SECTION.match(line.words) and after.words and after.indent > line.indent:
            section = f"**{line.words}**"
        elif entry:
            names = re.sub(r"`?(\*{0,2}\w+)`?", r"`\1`", entry[1])
            yield f"- {names}{_with_code(line.words[entry.end(1) :])}"
        elif line.words:
            yield f"{section} {_with_code(line.words)}".strip()
            section = ""


def _with_code(words: str) -> str:
    """Return Markdown in which what looks like markup is code, but shows as written: `key<fry>[]`."""
    parts = re.split(r"(`[^`]*`)", words)
    return "".join(part if part.startswith("`") else re.sub(r"\S+", _as_code, part) for part in parts)


def _as_code(match: re.Match[str]) -> str:
    core = match[0].strip(".,;:()")
    core += ")" if core.count("(") > core.count(")") and f"{core})" in match[0] else ""
    return match[0].replace(core, f"`{core}`", 1) if _MARKUP.search(core) else match[0]
