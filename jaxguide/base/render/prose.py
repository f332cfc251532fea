"""Convert sentences with code in backticks to HTML."""

from html import escape

from jaxguide.base.render.theme import CODE


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
