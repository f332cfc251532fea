"""Divide Python code into pieces to highlight, and mark ranges of characters in it."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jaxguide.base.render.card import Code

_LIMIT = 4_000  # characters; longer code is shown without highlighting


@dataclass(frozen=True)
class Piece:
    """A part of a line or of several: `kind` is 'keyword', 'string', 'number', 'comment', 'builtin' or ''."""

    text: str
    kind: str = ""
    is_marked: bool = False


def pieces(code: Code) -> list[Piece]:
    """Return the pieces of a code, in order.

    >>> [piece.kind for piece in pieces(Code("return 1", is_python=True)) if piece.text.strip()]
    ['keyword', 'number']
    >>> [piece.text for piece in pieces(Code("abc", marked=((1, 2),))) if piece.is_marked]
    ['b']
    """
    found: list[Piece] = []
    at = 0
    for piece in _lexed(code.text) if code.is_python and len(code.text) <= _LIMIT else [Piece(code.text)]:
        found += _divided(piece, at, code.marked)
        at += len(piece.text)
    return found


def _divided(piece: Piece, at: int, marked: tuple[tuple[int, int], ...]) -> Iterator[Piece]:
    """Divide a piece that begins at the character `at` where marked ranges begin and end."""
    edges = sorted({0, len(piece.text), *(min(max(edge - at, 0), len(piece.text)) for pair in marked for edge in pair)})
    for first, end in itertools.pairwise(edges):
        is_marked = any(start <= at + first and at + end <= stop for start, stop in marked)
        yield replace(piece, text=piece.text[first:end], is_marked=is_marked)


def _lexed(text: str) -> list[Piece]:
    from pygments.lexers.python import PythonLexer
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    # The first that contains a token's type counts.
    kinds = {Comment: "comment", String: "string", Number: "number", Keyword: "keyword", Operator.Word: "keyword"}
    kinds[Name.Builtin] = "builtin"
    found = []
    for token, words in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        found.append(Piece(words, next((kind for group, kind in kinds.items() if token in group), "")))
    return found
