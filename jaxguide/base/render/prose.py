"""Turn a sentence with code between backticks into HTML."""

from html import escape

from jaxguide.base.render.theme import CODE


def prose_html(text: str) -> str:
    """Escape a sentence, and set what stands between backticks as code.

    >>> prose_html("2 < 3").count("&lt;"), prose_html("use `jnp.where`").count("<code")
    (1, 1)
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: leave all as they are
        return escape(text)
    return "".join(
        f'<code style="{CODE}">{escape(part)}</code>' if i % 2 else escape(part) for i, part in enumerate(parts)
    )
