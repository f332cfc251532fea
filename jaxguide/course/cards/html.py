"""Lay out a card as HTML that is readable in light and dark notebooks, trusted or not.

JupyterLab sanitizes untrusted notebooks: it keeps `style`, but drops `role`, `aria-*` and declarations that it does not
know, including most with `var(...)`. So meaning is conveyed by order and wording; each state is shown as a glyph plus a
word, and important declarations that use a variable are preceded by a fallback without one.
"""

from html import escape

from jaxguide.base.render.prose import prose_html
from jaxguide.base.render.theme import CODE, LINE, WRAP, edge, frame
from jaxguide.course.cards.content import Badge, CardRow, Content

_BLOCK = "margin:0.35em 0;padding:0"


def card_html(content: Content) -> str:
    """Return a card as one `<section>` with inline styles, without scripts or tables."""
    parts = [_head(content)]
    if content.failed:
        parts.append(f'<p style="{_BLOCK}">{prose_html(content.failed)}</p>')
    if content.message:
        parts.append(f'<p style="{_BLOCK};{WRAP}">{prose_html(content.message)}</p>')
    rows = [row for row in (content.on, content.call, content.got, *content.pair, *content.error) if row]
    if rows:
        parts.append(_rows(content))
    if content.idea:
        parts.append(f'<p style="{_BLOCK};{WRAP}">{prose_html(content.idea)}</p>')
    after = [row for row in (content.misconceptions, content.hint) if row]
    if after:
        items = "".join(_item(row) for row in after)
        parts.append(f'<dl style="{_BLOCK}">{items}</dl>')
    if content.checks:
        items = "".join(_check(*check) for check in content.checks)
        parts.append(f'<p style="{_BLOCK};margin-top:0.8em">{escape(content.counts)}</p>')
        parts.append(f'<ul style="{_BLOCK};list-style-type:none">{items}</ul>')
    if content.printed:
        parts.append(f'<dl style="{_BLOCK};margin-top:0.8em">{_item(content.printed)}</dl>')
    return f'<section style="{frame(content.badge.tone)}">{"".join(parts)}</section>'


def _head(content: Content) -> str:
    badge = f"{content.badge.glyph} {content.badge.word}"
    name = f' (<code style="{CODE}">{escape(content.name)}</code>)' if content.name != content.title else ""
    return f'<p style="{_BLOCK}"><strong>{escape(badge)}: {escape(content.title)}</strong>{name}</p>'


def _rows(content: Content) -> str:
    call = "".join(_item(row) for row in (content.on, content.call, content.got) if row)
    error = "".join(map(_item, content.error))
    pair = ""
    if content.pair:
        halves = "".join(
            f'<dl style="flex:1 1 14em;min-width:0;margin:0;padding:0">{_item(row)}</dl>' for row in content.pair
        )
        pair = f'<div style="display:flex;flex-wrap:wrap;column-gap:1.5em">{halves}</div>'
    before = f'<dl style="margin:0;padding:0">{call}</dl>' if call else ""
    after = f'<dl style="margin:0;padding:0">{error}</dl>' if error else ""
    return f'<div style="margin:0.35em 0 0.7em 0;padding:0">{before}{pair}{after}</div>'


def _item(row: CardRow) -> str:
    text = f'<code style="{CODE}">{escape(row.text)}</code>' if row.code else prose_html(row.text)
    if row.folded:
        text = f"<details><summary>{escape(row.label)}</summary>{text}</details>"
        return f'<dd style="float:none;width:auto;margin:0.35em 0 0 0;padding:0;{WRAP}">{text}</dd>'
    edge = f"border-left-width:1px;border-left-style:solid;border-left-color:{LINE}" if row.code else ""
    inner = f"padding:0 0 0 0.6em;{edge}" if row.code else "padding:0"
    return (
        f'<dt style="float:none;width:auto;margin:0.35em 0 0 0;padding:0;font-weight:bold">{escape(row.label)}</dt>'
        f'<dd style="float:none;width:auto;margin:0;{inner};{WRAP}">{text}</dd>'
    )


def _check(badge: Badge, fact: str, cases: tuple[str, ...]) -> str:
    items = "".join(f'<li style="margin:0;padding:0"><code style="{CODE}">{escape(case)}</code></li>' for case in cases)
    below = f'<ul style="margin:0;padding:0 0 0 1.2em;list-style-type:none">{items}</ul>' if cases else ""
    # The colour of the edge repeats the glyph and the word.
    return (
        f'<li style="margin:0.15em 0;padding:0 0 0 0.6em;{edge(badge.tone, 3)}">'
        f"{escape(badge.glyph)} <strong>{escape(badge.word)}</strong> · {prose_html(fact)}{below}</li>"
    )
