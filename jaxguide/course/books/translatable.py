"""Split prose, docstrings and comments into pieces, translate each piece, and join them again."""

import ast
import dataclasses
import io
import re
import tokenize
from collections.abc import Iterator

from jaxguide.base.text import translated

# The marks that start a Markdown heading or list item, the names of an argument, and comments that are directives.
_MARK = re.compile(r"(#{1,6} +|[-*+] +|\d+[.)] +)")
_NAMES = re.compile(r"`?\*{0,2}\w+`?(?:, `?\*{0,2}\w+`?)*(?: \([^)]*\))?:\s")
_UNSAID = re.compile(r"#\s*(%%|noqa|type:|fmt:|pragma)")


@dataclasses.dataclass
class Piece:
    """Lines of a text that are translated together: the indent and mark before the words, and the joined words.

    `words` is empty if the lines are code or blank.
    """

    lines: list[str]
    before: str = ""
    words: str = ""

    def said(self) -> str:
        """Return the lines in the reader's language, or unchanged if there is no translation."""
        found = translated(self.words)
        return "\n".join(self.lines) if found == self.words else self.before + found


def pieces(text: str) -> list[Piece]:
    r"""Split Markdown or a docstring into pieces: headings, paragraphs, list items, table rows, arguments.

    >>> [piece.words for piece in pieces("# Keys\n\nA key is\nan array.\n\n- one\n  more\n- two")]
    ['Keys', '', 'A key is an array.', '', 'one more', 'two']
    """
    found: list[Piece] = []
    is_code = is_example = False
    for line in text.split("\n"):
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        is_example = bool(bare) and (is_example or bare.startswith(">>>"))
        if bare.startswith("```"):
            is_code = not is_code
            found.append(Piece([line]))
        elif is_code or is_example or not any(c.isalpha() for c in bare):
            found.append(Piece([line]))
        elif found and _goes_on(found[-1], bare, indent):
            found[-1].lines.append(line)
            found[-1].words += " " + bare
        else:
            mark = _MARK.match(bare)
            before = mark[0] if mark else ""
            found.append(Piece([line], line[:indent] + before, bare[len(before) :]))
    return found


def _goes_on(piece: Piece, bare: str, indent: int) -> bool:
    """Return whether a line continues the piece above it."""
    if not piece.words or piece.before.lstrip().startswith("#") or bare.startswith("|") or _MARK.match(bare):
        return False
    first = len(piece.lines[0]) - len(piece.lines[0].lstrip())
    if indent > first:
        return not piece.words.endswith(":")
    # Each argument is a piece.
    return indent == first and not (indent and _NAMES.match(bare))


def said(text: str) -> str:
    """Return Markdown or a docstring in the reader's language."""
    return "\n".join(piece.said() for piece in pieces(text))


@dataclasses.dataclass(frozen=True)
class Comment:
    """A comment or docstring in code: its text, its lines (counted from 1), and the column where it starts."""

    first: int
    last: int
    column: int
    text: str
    is_docstring: bool


def comments(source: str) -> list[Comment]:
    r"""Return the comments and docstrings of code, in order; adjacent comment lines are joined.

    >>> [found.text for found in comments("def f(x):\n    'Add one.'\n    # Not in\n    # place.\n    return x + 1")]
    ['Add one.', 'Not in place.']
    """
    try:
        tree, tokens = ast.parse(source), list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return []
    lines = source.split("\n")
    found = list(_docstrings(tree, lines))
    marks = [token for token in tokens if token.type == tokenize.COMMENT and not _UNSAID.match(token.string)]
    for token in marks:
        (line, column), words = token.start, token.string.lstrip("#").strip()
        above = found[-1] if found else None
        is_alone = not lines[line - 1][:column].strip()
        if above and not above.is_docstring and is_alone and above.last == line - 1 and above.column == column:
            found[-1] = dataclasses.replace(above, last=line, text=f"{above.text} {words}")
        elif " " in words:
            found.append(Comment(line, line, column, words, is_docstring=False))
    return sorted(found, key=lambda one: (one.first, one.column))


def _docstrings(tree: ast.Module, lines: list[str]) -> Iterator[Comment]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text, first = ast.get_docstring(node), node.body[0]
            # Docstrings on the line of their `def` are rare and would need special handling.
            is_alone = not lines[first.lineno - 1][: first.col_offset].strip()
            if text and is_alone:
                yield Comment(first.lineno, first.end_lineno or 0, first.col_offset, text, is_docstring=True)


def said_in_code(source: str) -> str:
    """Return code with its comments and docstrings in the reader's language."""
    lines = source.split("\n")
    for one in reversed(comments(source)):
        text = said(one.text) if one.is_docstring else translated(one.text)
        if text == one.text:
            continue
        margin = lines[one.first - 1][: one.column]
        comment = [f"{margin}# {' '.join(text.split())}"]
        lines[one.first - 1 : one.last] = _docstring(text, margin) if one.is_docstring else comment
    return "\n".join(lines)


def _docstring(text: str, margin: str) -> list[str]:
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if "\n" not in text:
        return [f'{margin}"""{text}{" " if text.endswith(chr(34)) else ""}"""']
    lines = [f'"""{text}', '"""']
    return [margin + line if line else "" for line in "\n".join(lines).split("\n")]
