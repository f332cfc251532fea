"""Convert sentences with code in backticks, and reports made of them, to HTML."""

import re
from html import escape

from jaxguide.base.render.theme import CODE, frame

# No other pages: texts may come from a submission, and instructors read them, too.
_DOCS = re.compile(r"https://docs\.jax\.dev/[\w./#%-]*[\w/]")


def prose_html(text: str) -> str:
    """Escape a sentence for HTML, mark text in backticks as code, and link to JAX's documentation.

    >>> prose_html("2 < 3").count("&lt;"), prose_html("use `jnp.where`").count("<code")
    (1, 1)
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: leave them as they are
        return _linked(text)
    return "".join(
        f'<code style="{CODE}">{escape(part)}</code>' if i % 2 else _linked(part) for i, part in enumerate(parts)
    )


def _linked(text: str) -> str:
    # The addresses have no character that HTML escapes.
    return _DOCS.sub(r'<a href="\g<0>" target="_blank" rel="noopener">\g<0></a>', escape(text))


def lines_html(text: str, tone: str) -> str:
    """Return a report's lines as HTML, indented as in the text, in a frame whose edge has a colour of `theme.EDGES`.

    >>> lines_html("2 lines\\n  of `f`", "quiet").count("<p ")
    2
    """
    rows = ""
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        rows += f'<p style="margin:0.15em 0 0.15em {indent * 0.6:g}em">{prose_html(line.strip())}</p>'
    return f'<section style="{frame(tone)}">{rows}</section>'
