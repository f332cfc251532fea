"""Pages that work from disk: one file each, nothing fetched, no script, light and dark, narrow and wide.

Templates hold markup and fixed words; Python computes the rest and passes plain values. Jinja escapes every value, once
`fit` has removed its control characters, put it on one line and cut it. The filters below cut elsewhere or keep lines.
"""

import functools
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxguide.base.clean import clean
from jaxguide.base.render.prose import prose_html
from jaxguide.base.text import _, plural
from jaxguide.course.cards import Card

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")


def rendered(template: str, view: Mapping[str, Any]) -> str:
    """Return a whole HTML page.

    Args:
        template: the name of a file in `templates/`.
        view: the values that it names; a missing one raises.
    """
    out = io.StringIO()
    # Piece by piece: for a large class, a list of all pieces takes more memory than the page.
    out.writelines(_environment().get_template(template).generate(view))
    return out.getvalue()


def is_page(path: Path) -> bool:
    """Return whether a file is a page that `rendered` made.

    Raises:
        OSError: it cannot be read.
    """
    head = (_TEMPLATES / "head.html").read_text("utf-8").encode()
    with path.open("rb") as file:
        return file.read(len(head)) == head


@functools.cache
def _environment() -> "Environment":
    # Imported here, since most commands write no page.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def fit(value: object) -> object:
        return value if isinstance(value, Fit | Markup) else line(value)

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=fit,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.globals.update({"_": _, "plural": plural})
    environment.filters.update({"line": line, "block": block, "prose": prose, "card": card})
    return environment


class Fit(str):
    """Text that is cleaned and cut already. It is escaped like any other."""


def line(words: object, limit: int = 1000) -> Fit:
    r"""Return anything as one line of text.

    >>> line("<b>\x1b[31mred\ncar")
    '<b>red car'
    """
    return Fit(" ".join(clean(str(words), limit).split()))


def block(text: object, limit: int) -> Fit:
    r"""Return text with its lines and columns, for `<pre>`.

    >>> block("1.0\n\x1b[31m2.0", 600)
    '1.0\n2.0'
    """
    return Fit(clean(str(text), limit))


# The only two values that Jinja does not escape: HTML from other renderers of this package, which escape what they are
# given. `base/render/prose.py` sets code between backticks; `course/cards/html.py` lays out a card.


def prose(words: object, limit: int = 2000) -> "Markup":
    """Return a sentence as HTML, with text between backticks as code."""
    from markupsafe import Markup

    return Markup(prose_html(clean(str(words), limit)))


def card(shown: Card) -> "Markup":
    """Return a card as HTML."""
    from markupsafe import Markup

    return Markup(shown.html())
