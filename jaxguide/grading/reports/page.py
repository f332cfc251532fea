"""Render self-contained HTML pages: one file, no downloads, no scripts, light and dark mode, any screen width.

Templates hold markup and fixed words; Python computes everything else and passes plain values. `fit` removes control
characters from every value, joins its lines and truncates it; then Jinja escapes it. The filters below truncate at
another length or keep line breaks.
"""

import functools
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxguide.base.clean import clean
from jaxguide.base.render.prose import prose_html
from jaxguide.base.text import plural

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")


def rendered(template: str, view: Mapping[str, Any]) -> str:
    """Return a whole HTML page, made from a file in `templates/` and the values of all its variables."""
    out = io.StringIO()
    # Write piece by piece: for a large class, a list of all pieces takes more memory than the page itself.
    out.writelines(_environment().get_template(template).generate(view))
    return out.getvalue()


def is_page(path: Path) -> bool:
    """Return whether `rendered` produced a file."""
    head = (_TEMPLATES / "head.html").read_text("utf-8").encode()
    with path.open("rb") as file:
        return file.read(len(head)) == head


@functools.cache
def _environment() -> "Environment":
    # Imported here, since most commands do not write pages.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Fit | Markup) else line(value),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.globals["plural"] = plural
    # Jinja does not escape the results of the last two. They are HTML from this package's own renderers,
    # `base/render/prose.py` (code between backticks) and `base/render/card_html.py` (cards), which escape their input.
    environment.filters.update(
        {one.__name__: one for one in (of_student, percent, line, block)},
        prose=lambda words, limit=2000: Markup(prose_html(clean(str(words), limit))),
        card=lambda shown: Markup(shown.html()),
    )
    return environment


class Fit(str):
    """Text that is already cleaned and truncated; Jinja still escapes it."""


def line(words: object, limit: int = 1000) -> Fit:
    r"""Return any value as one line of text, cleaned and truncated.

    >>> line("<b>\x1b[31mred\ncar")
    '<b>red car'
    """
    return Fit(" ".join(clean(str(words), limit).split()))


def block(text: object, limit: int) -> Fit:
    """Return text for `<pre>`, with its line breaks and spaces."""
    return Fit(clean(str(text), limit))


def of_student(words: str) -> str:
    """Return what a student reads, without a question to them and with them as a third person. An error is quoted.

    >>> of_student("Your code raised ValueError: `x` is not your number")
    "The student's code raised ValueError: `x` is not your number"
    """
    head, raised, quoted = words.partition("raised ")
    said = re.sub(r"\b([Yy])ours?\b", lambda your: {"Y": "The student's", "y": "the student's"}[your[1]], head)
    return re.sub(r"(?<=\.) ((?!\. ).)*\?$", "", said) + raised + quoted


def percent(share: float | None) -> str:
    """Return a share as a whole number of percent, or a dash if there is none.

    >>> percent(0.666), percent(None)
    ('67 %', '–')
    """
    return "\u2013" if share is None else f"{100 * share:.0f} %"
