"""Lay out a card as HTML that is readable in light and dark notebooks, trusted or not.

JupyterLab sanitizes untrusted notebooks: it keeps `style`, but drops `role`, `aria-*` and declarations that it does not
know, including most with `var(...)`. So meaning is conveyed by order and wording; each state is shown as a glyph plus a
word, and important declarations that use a variable are preceded by a fallback without one.
"""

import re
from html import escape

from jaxguide.base.render.card import Bar, CardFace, Code, Diff, Folded, Item, Items, Pair, Part, Prose
from jaxguide.base.render.highlight import pieces
from jaxguide.base.render.line_diff import diff_rows
from jaxguide.base.render.prose import prose_html
from jaxguide.base.render.theme import CODE, EDGES, LINE, TOKENS, WRAP, edge, frame

_BLOCK = "margin:0.35em 0;padding:0"
_CODE_BLOCK = (
    "margin:0.1em 0 0.35em 0;padding:0 0 0 0.6em;"
    f"border-left-width:1px;border-left-style:solid;border-left-color:{LINE};{WRAP}"
)
_LINK = re.compile(r"https://[^\s<>\"]*[\w/]")


def card_html(face: CardFace) -> str:
    """Return a card as one `<section>` with inline styles, without scripts or tables."""
    badge = f"{face.badge.glyph} {face.badge.word}: " if face.badge.word else ""
    name = f' (<code style="{CODE}">{escape(face.name)}</code>)' if face.name and face.name != face.title else ""
    title = f"<strong>{escape(badge)}{prose_html(face.title)}</strong>{name}"
    head = f'<p role="heading" aria-level="4" style="{_BLOCK}">{title}</p>'  # a heading, if trusted
    parts = "".join(map(part_html, face.parts))
    return f'<section style="{frame(face.badge.tone)}">{head if face.title else ""}{parts}</section>'


def part_html(part: Part) -> str:
    """Return one part of a card as HTML."""
    if isinstance(part, Prose):
        return _prose(part)
    if isinstance(part, Code):
        return _code(part)
    if isinstance(part, Pair):
        halves = "".join(
            f'<div style="flex:1 1 14em;min-width:0;margin:0;padding:0">{_code(half)}</div>'
            for half in (part.first, part.second)
        )
        return f'<div style="display:flex;flex-wrap:wrap;column-gap:1.5em">{halves}</div>'
    if isinstance(part, Diff):
        return _diff(part)
    if isinstance(part, Items):
        return f'<ul style="{_BLOCK};list-style-type:none">{"".join(map(_item, part.items))}</ul>'
    return _bar(part) if isinstance(part, Bar) else _folded(part)


def _prose(part: Prose) -> str:
    label = f"<strong>{prose_html(part.label)}</strong> " if part.label else ""
    said = prose_html(part.text)
    if part.has_links:
        said = _LINK.sub(r'<a href="\g<0>" target="_blank" rel="noopener">\g<0></a>', said)
    return f'<p style="{_BLOCK};{WRAP}">{label}{said}</p>'


def _code(part: Code) -> str:
    return f'{_label(part.label)}<div style="{_CODE_BLOCK}"><code style="{CODE}">{_pieces(part)}</code></div>'


def _label(label: str) -> str:
    style = "margin:0.35em 0 0 0;padding:0;font-weight:bold"
    return f'<div style="{style}">{escape(label)}</div>' if label else ""


def _diff(part: Diff) -> str:
    rows = "".join(
        f'<div style="margin:0;padding:0 0 0 2ch;text-indent:-2ch"><code style="{CODE}">'
        f"{row.margin} {_pieces(Code(row.text, marked=row.marked))}</code></div>"
        for row in diff_rows(part.text)
    )
    return f'{_label(part.label)}<div style="{_CODE_BLOCK}">{rows}</div>'


def _pieces(code: Code) -> str:
    return "".join(_piece(piece.text, piece.kind, piece.is_marked) for piece in pieces(code))


def _piece(text: str, kind: str, is_marked: bool) -> str:
    shown, style = escape(text), TOKENS.get(kind, "")
    if style:
        shown = f'<span style="{style}">{shown}</span>'
    # Bold and underlined, so that the mark needs no colour.
    return f"<strong><u>{shown}</u></strong>" if is_marked else shown


def _item(item: Item) -> str:
    items = "".join(
        f'<li style="margin:0;padding:0"><code style="{CODE}">{escape(line)}</code></li>' for line in item.lines
    )
    below = f'<ul style="margin:0;padding:0 0 0 1.2em;list-style-type:none">{items}</ul>' if items else ""
    said = prose_html(item.text)
    said = f'<a href="{escape(item.link)}">{said}</a>' if item.link else said
    # The colour of the edge repeats the glyph and the word.
    return (
        f'<li style="margin:0.15em 0;padding:0 0 0 0.6em;{edge(item.badge.tone, 3)}">'
        f"{escape(item.badge.glyph)} <strong>{escape(item.badge.word)}</strong> · {said}{below}</li>"
    )


def _bar(part: Bar) -> str:
    (own, theme), (quiet_own, quiet) = EDGES["good"], EDGES["quiet"]
    return (
        f'<div style="{_BLOCK};max-width:24em;height:0.7em;border:1px solid {quiet_own};border-color:{quiet}">'
        f'<div style="height:100%;width:{100 * part.share:.0f}%;background-color:{own};background-color:{theme}">'
        f"</div></div>{_prose(Prose(part.text))}"
    )


def _folded(part: Folded) -> str:
    inner = "".join(map(part_html, part.parts))
    return (
        f'<details style="{_BLOCK}"><summary style="cursor:pointer">{prose_html(part.title)}</summary>{inner}</details>'
    )
