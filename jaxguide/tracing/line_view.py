"""Show a function line by line: source on the left, beside each line what its names were and what JAX recorded."""

import textwrap
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from jaxguide.base.render.theme import CODE, CODE_FONT, FOREGROUND, edge, frame
from jaxguide.base.text import _

if TYPE_CHECKING:
    from jaxguide.tracing.line_rows import Name, Row

WIDTH = 110
_CODE_WIDTH = 54
_WORD_WIDTH = 8


def view_text(title: str, rows: "Sequence[Row]", elsewhere: dict[str, int], error: str | None) -> str:
    """Return the picture as text of at most 110 columns (longer only where a line of the source is)."""
    code_width = max(len(line) for row in rows for line in row.source)
    code_width = min(code_width, _CODE_WIDTH)
    digits = len(str(rows[-1].number + len(rows[-1].source) - 1))
    lines = [title, ""]
    for row in rows:
        notes = _notes(row, WIDTH - digits - code_width - 6)
        for i, source in enumerate(row.source):
            numbered = f"{row.number + i:>{digits}}  {source}"
            beside = notes.pop(0) if notes and len(source) <= code_width else ""
            lines.append(f"{numbered:<{digits + 2 + code_width}}  | {beside}" if beside else numbered.rstrip())
        lines += [f"{'':<{digits + 2 + code_width}}  | {note}" for note in notes]
    if elsewhere:
        lines += ["", *textwrap.wrap(_("On no line of its own: {names}.").format(names=counted(elsewhere)), WIDTH)]
    if error:
        lines += ["", *textwrap.wrap(f"✗ {error}", WIDTH)]
    return "\n".join(lines)


def _notes(row: "Row", width: int) -> list[str]:
    width = max(width, 40)
    notes = []
    longest = max((len(name.name) for name in row.names), default=0)
    for name in row.names:
        notes += _hanging(_kind_word(name.kind), f"{name.name:<{longest}}  {name.text}", longest + 2, width)
    if row.primitives:
        notes += _hanging(_("makes"), counted(row.primitives), 0, width)
    if row.times > 1:
        notes += _hanging(_("ran"), _times(row.times), 0, width)
    if row.error:
        notes += _hanging("✗", row.error, 0, width)
    if row.state == "not run":
        notes.append(_("not run"))
    return notes


def _hanging(word: str, text: str, indent: int, width: int) -> list[str]:
    return textwrap.wrap(
        f"{word:<{_WORD_WIDTH - 1}} {text}",
        width,
        subsequent_indent=" " * (_WORD_WIDTH + indent),
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def view_html(title: str, rows: "Sequence[Row]", elsewhere: dict[str, int], error: str | None) -> str:
    """Return the picture as HTML with inline style only, which JupyterLab's sanitizer keeps."""
    items = "".join(_item(row) for row in rows)
    foot = ""
    if elsewhere:
        foot += f"<p>{_code(_('On no line of its own: {names}.').format(names=counted(elsewhere)))}</p>"
    if error:
        foot += f'<p style="{edge("bad", 3)};padding-left:0.5em">✗ {escape(error)}</p>'
    legend = _(
        "~ traced: while JAX traces, only its type is known. = static: a Python value, fixed in the program. "
        "+ makes: what the line put into the program."
    )
    return (
        f'<section style="{frame("quiet")};max-width:72em">'
        f'<p style="margin:0 0 0.2em 0"><strong>{escape(title)}</strong></p>'
        f'<p style="margin:0 0 0.5em 0;font-size:90%">{escape(legend)}</p>'
        f'<ul style="list-style:none;margin:0;padding:0">{items}</ul>{foot}</section>'
    )


def _item(row: "Row") -> str:
    width = 4
    source = "\n".join(f"{row.number + i:>{width}}  {line}" for i, line in enumerate(row.source))
    chips = [_chip(_GLYPHS[name.kind], _kind_word(name.kind), name) for name in row.names]
    if row.primitives:
        chips.append(_label("quiet", f"+ {_('makes')} {_code(counted(row.primitives))}"))
    if row.times > 1:
        chips.append(_label("quiet", escape(f"{_('ran')} {_times(row.times)}")))
    if row.error:
        chips.append(_label("bad", f"✗ {escape(row.error)}"))
    if row.state == "not run":
        chips.append(_label("quiet", escape(_("not run"))))
    notes = f'<div style="margin:0 0 0.35em 4.5em;font-size:90%">{" ".join(chips)}</div>' if chips else ""
    return f'<li style="margin:0;padding:0"><pre style="{CODE}">{escape(source)}</pre>{notes}</li>'


_GLYPHS = {"traced": "~", "static": "=", "mixed": "≈"}
_TONES = {"traced": "partly", "static": "good", "mixed": "partly"}


def _chip(glyph: str, word: str, name: "Name") -> str:
    return _label(_TONES[name.kind], f"{glyph} {escape(word)} {_code(f'{name.name}: {name.text}')}")


def _label(tone: str, inner: str) -> str:
    return (
        f'<span style="{edge(tone, 3)};padding:0 0.9em 0 0.35em;display:inline-block;color:{FOREGROUND}">{inner}</span>'
    )


def _code(text: str) -> str:
    return f'<span style="font-family:monospace;font-family:{CODE_FONT}">{escape(text)}</span>'


def _kind_word(kind: str) -> str:
    return {"traced": _("traced"), "static": _("static"), "mixed": _("mixed")}[kind]


def _times(times: int) -> str:
    return _("{times} times").format(times=times)


def counted(primitives: dict[str, int]) -> str:
    """Return primitives with their counts in words.

    >>> counted({"sin": 1, "add": 3})
    'sin, add ×3'
    """
    return ", ".join(
        name if count == 1 else f"{name} \N{MULTIPLICATION SIGN}{count}" for name, count in primitives.items()
    )
