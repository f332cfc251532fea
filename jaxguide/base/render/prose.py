"""Convert sentences with code in backticks, and reports made of them, to HTML."""

import itertools
from html import escape

from jaxguide.base.render.theme import CODE, frame


def prose_html(text: str) -> str:
    """Escape a sentence for HTML, and mark text in backticks as code.

    >>> prose_html("2 < 3").count("&lt;"), prose_html("use `jnp.where`").count("<code")
    (1, 1)
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: leave them as they are
        return escape(text)
    return "".join(
        f'<code style="{CODE}">{escape(part)}</code>' if i % 2 else escape(part) for i, part in enumerate(parts)
    )


def lines_html(text: str, tone: str) -> str:
    """Return a report's lines as HTML, indented as in the text, in a frame whose edge has a colour of `theme.EDGES`.

    A line above indented ones is a title, and one that is indented by at least 6 spaces is code.

    >>> lines_html("2 lines\\n  of `f`", "quiet").count("<p ")
    2
    """
    rows = ""
    for line, below in itertools.pairwise([*text.splitlines(), ""]):
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        shown = prose_html(words) if indent < 6 else f'<code style="{CODE}">{escape(words)}</code>'
        if not indent and below.startswith(" "):
            shown = f"<strong>{shown}</strong>"
        rows += f'<p style="margin:0.15em 0 0.15em {indent * 0.6:g}em">{shown}</p>'
    return f'<section style="{frame(tone)}">{rows}</section>'
