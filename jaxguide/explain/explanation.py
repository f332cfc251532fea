"""Hold what is said of one error: the line, the variable, why it fails, and fixes that can be applied."""

from dataclasses import dataclass
from html import escape
from typing import Any

from jaxguide.base.render import theme
from jaxguide.base.render.prose import prose_html
from jaxguide.base.text import _
from jaxguide.code.edits import Edit, apply_edits
from jaxguide.code.lines import Line

_LINES_AT_MOST = 12


@dataclass(frozen=True)
class Fix:
    """One way out: what to do in one sentence, the lines as they will read, and the edits that make them so.

    Args:
        sentence: what to do, and what it costs.
        code: the changed lines, in the student's names.
        edits: what to replace; empty for a fix that needs a decision of the student's.
    """

    sentence: str
    code: str
    edits: tuple[Edit, ...] = ()

    def apply(self, source: str, file: str | None = None) -> str:
        """Return `source` with the fix applied.

        >>> Fix("Add the colon.", "if x:", (Edit("a.py", (1, 4), (1, 4), ":"),)).apply("if x\\n    y = 1")
        'if x:\\n    y = 1'

        Args:
            source: the text of the file, or of the cell.
            file: whose text it is, where a fix changes several (a function's cell and the cell that calls it).

        Raises:
            ValueError: the fix has no edits.
        """
        if not self.edits:
            raise ValueError(_("This fix needs a decision of yours and cannot be applied as it is."))
        return apply_edits(source, [edit for edit in self.edits if file in (None, edit.file)])


@dataclass(frozen=True, repr=False)
class Explanation:
    """What happened, in the student's names; prints as text, and shows as a card in a notebook.

    Args:
        kind: the failure's name, such as 'if_on_tracer'.
        title: the failure in a few words.
        line: the student's line at which it happened.
        variable: the student's name or expression that it happened to, None where there is none.
        what: what the variable is at that point.
        why: why that cannot work, in one sentence.
        fixes: ways out, the best first.
        link: where JAX documents it.
    """

    kind: str
    title: str
    line: Line
    variable: str | None
    what: str
    why: str
    fixes: tuple[Fix, ...]
    link: str

    def text(self) -> str:
        """Return the explanation as text: a dozen lines at most, and all of the first fix."""
        source = self.line.text()
        place = f"{self.line}: `{source}`" if source else str(self.line)
        head = [f"✗ {self.title}", f"  {_('Your code,')} {place}"]
        head += [f"  {self.what}"] if self.what else []
        head.append(f"  {self.why}")
        last = [f"  {_('More:')} {self.link}"]
        fixes: list[str] = []
        for number, fix in enumerate(self.fixes):
            block = [f"  → {fix.sentence}", *(f"      {line}" for line in fix.code.split("\n") if fix.code)]
            if number and len(head) + len(fixes) + len(block) + 1 > _LINES_AT_MOST:
                break
            fixes += block
        return "\n".join(head + fixes + last)

    def html(self) -> str:
        """Return the explanation as HTML with inline style, for light and dark themes."""
        source = self.line.text()
        code = f'<pre style="{theme.CODE};margin:0.1em 0 0.3em 1.2em">'
        parts = [
            f'<div style="font-weight:bold">✗ {prose_html(self.title)}</div>',
            f"<div>{prose_html(_('Your code,'))} {escape(str(self.line))}</div>",
            f"{code}{escape(source)}</pre>" if source else "",
            f"<div>{prose_html(self.what)}</div>" if self.what else "",
            f"<div>{prose_html(self.why)}</div>",
            '<ul style="margin:0.5em 0;padding-left:1.2em">',
            *(
                f'<li style="margin:0.2em 0">{prose_html(fix.sentence)}'
                + (f"{code}{escape(fix.code)}</pre>" if fix.code else "")
                + "</li>"
                for fix in self.fixes
            ),
            "</ul>",
            f'<div><a href="{escape(self.link)}" target="_blank" rel="noopener">{escape(self.link)}</a></div>',
        ]
        return f'<div style="{theme.frame("bad")}">{"".join(parts)}</div>'

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}
