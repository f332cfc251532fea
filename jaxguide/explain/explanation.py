"""Hold the explanation of an error: the line, the variable, why it fails, and fixes that can be applied."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxguide.base.render.card import STATELESS, CardFace, Code, Folded, Part, Prose
from jaxguide.base.render.card_html import card_html
from jaxguide.code.edits import Edit, apply_edits
from jaxguide.code.lines import Line

_LINES_AT_MOST = 12


@dataclass(frozen=True)
class Fix:
    """One fix: a sentence that says what to do, the changed lines, and the edits that produce them.

    Args:
        sentence: what to do, and what it costs.
        code: the changed lines, in the student's names.
        edits: what to replace; empty if the student must decide something first.
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
            file: the file of `source`, if the fix changes several (such as a function's cell and a cell that calls it).

        Raises:
            ValueError: if the fix has no edits.
        """
        if not self.edits:
            raise ValueError("This fix needs a decision of yours and cannot be applied as it is.")
        return apply_edits(source, [edit for edit in self.edits if file in (None, edit.file)])


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explanation of an error in the student's names; prints as text, and shows as a card in a notebook.

    Args:
        kind: the name of the failure, such as 'if_on_tracer'.
        title: the failure in a few words.
        line: the student's line that failed.
        variable: the name or expression that caused it, as the student wrote it, or None.
        what: what the variable is at that point.
        why: why it fails, in one sentence.
        fixes: the fixes, the best first.
        link: the page of JAX's documentation about it.
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
        """Return the explanation as text: at most a dozen lines, but always the whole first fix."""
        head = [f"✗ {self.title}", f"  Your code, {self._place()}"]
        head += [f"  {self.what}"] if self.what else []
        head.append(f"  {self.why}")
        fixes: list[str] = []
        for number, fix in enumerate(self.fixes):
            block = [f"  → {fix.sentence}", *(f"      {line}" for line in fix.code.split("\n") if fix.code)]
            if number and len(head) + len(fixes) + len(block) + 1 > _LINES_AT_MOST:
                break
            fixes += block
        return "\n".join([*head, *fixes, f"  More: {self.link}"])

    def html(self) -> str:
        """Return the explanation as HTML with inline styles, for light and dark themes."""
        fixes = [(fix.sentence, fix.code) for fix in self.fixes]
        parts = [*explained(self._place(), f"{self.what} {self.why}".strip(), fixes), Prose(self.link, "More", True)]
        return card_html(CardFace(replace(STATELESS, tone="bad"), f"✗ {self.title}", parts=tuple(parts)))

    def _place(self) -> str:
        source = self.line.text()
        return f"{self.line}: `{source}`" if source else str(self.line)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


def explained(place: str, why: str, fixes: Sequence[tuple[str, str]]) -> list[Part]:
    """Return what a card says of an error: the line, why it fails and how to fix it, with other ways folded.

    Each fix is a sentence and the changed code, '' if there is none.
    """
    first, *others = [_fix_parts(number, *fix) for number, fix in enumerate(fixes)] or [[]]
    parts: list[Part] = [Prose(place, "Where")] if place else []
    parts += [Prose(why, "Why"), *first]
    return [*parts, Folded("Other ways to fix it", tuple(part for fix in others for part in fix))] if others else parts


def _fix_parts(number: int, sentence: str, code: str) -> list[Part]:
    shown: list[Part] = [Code(code, is_python=True)] if code else []
    return [Prose(sentence, "Or" if number else "To fix it"), *shown]
