"""Convert sentences with code in backticks, and reports made of them, to HTML."""

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

    >>> lines_html("2 lines\\n  of `f`", "quiet").count("<p ")
    2
    """
    rows = ""
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        rows += f'<p style="margin:0.15em 0 0.15em {indent * 0.6:g}em">{prose_html(line.strip())}</p>'
    return f'<section style="{frame(tone)}">{rows}</section>'
