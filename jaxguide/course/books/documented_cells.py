"""Read and print the cells of a book that show documented examples: code, the documented output, and today's."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from jaxguide.course import ledger
from jaxguide.course.books.percent import PercentCell, uncommented
from jaxguide.course.exercise import AuthorError, Mistakes, Task

_COMMENTS = r"(?:#[^\n]*\n)+"
_PARTS = re.compile(rf"({_COMMENTS})(.*\n)# documented\n({_COMMENTS}?)(?:\n*# today\n({_COMMENTS}))?", re.DOTALL)
# The kinds of examples in the ledger that are a sentence and not an output.
_SAID = ("statement", "rule", "note", "table", "formula")


@dataclasses.dataclass(frozen=True)
class DocumentedCell:
    """Documented examples of one exercise.

    Args:
        ids: their ids in the ledger.
        exercise: the name of the exercise that reproduces them.
        sentence: whether, and why, today's output differs.
        code: what runs.
        documented, today: the output that the document shows, and today's.
        line: the line of the cell's marker.
    """

    ids: tuple[str, ...]
    exercise: str
    sentence: str
    code: str
    documented: str
    today: str
    line: int


def documented_cells(path: Path, cells: Sequence[PercentCell], tasks: Sequence[Task]) -> list[DocumentedCell]:
    """Read the cells of documented examples, one for each such cell of a book.

    Args:
        path: the book's file.
        cells: its cells.
        tasks: its tasks, one for each exercise cell.

    Raises:
        AuthorError: a part is missing, or the exercise above does not reproduce an id.
    """
    found, mistakes, waiting = [], Mistakes(), iter(tasks)
    above: Task | None = None
    for cell in cells:
        above = next(waiting) if cell.kind == "exercise" else above
        if cell.kind == "documented":
            with mistakes.noted():
                found.append(_documented_cell(path, cell, above))
    mistakes.tell()
    return found


def _documented_cell(path: Path, cell: PercentCell, above: Task | None) -> DocumentedCell:
    parts, message = _PARTS.fullmatch(f"{cell.source}\n"), ""
    unknown = [example for example in cell.ids if example not in ledger.entries()]
    other = [example for example in cell.ids if above is None or example not in above.reproduces]
    if not cell.ids:
        message = "name the documented examples, such as `# %% documented S1-09`"
    elif unknown:
        message = f"the ledger has no documented example {unknown[0]}"
    elif other:
        whose = f"`{above.name}`, the exercise above, does not" if above else "no exercise above does"
        message = f"put {other[0]} below the exercise that reproduces it; {whose}"
    elif parts is None:
        message = (
            "a documented example is comment lines, which say why its output differs today or that it does not, then "
            "code, then `# documented` and that output as comment lines, then, if today's differs, `# today` and it"
        )
    if message or above is None or parts is None:
        raise AuthorError(path, cell.line, message)
    sentence, documented, today = (uncommented(parts[number] or "") for number in (1, 3, 4))
    return DocumentedCell(cell.ids, above.name, sentence, parts[2].strip("\n"), documented, today, cell.line)


def folded(cell: DocumentedCell) -> str:
    """Return the Markdown of documented examples as students get it, folded."""
    title, address = ledger.page_of(cell.ids[0])
    is_said = all(ledger.entries()[example]["kind"].startswith(_SAID) for example in cell.ids)
    return "\n\n".join(
        [
            f"<details>\n<summary>The document's example, today ({', '.join(cell.ids)})</summary>",
            cell.sentence,
            _fenced("python", cell.code),
            f"[{title}]({address})\n{'says' if is_said else 'shows'}:",
            _quoted(cell.documented) if is_said else _fenced("text", cell.documented),
            f"Today:\n\n{_fenced('text', cell.today)}" if cell.today else "Today's JAX prints the same.",
            "</details>",
        ]
    )


def _fenced(language: str, code: str) -> str:
    return _quoted(f"```{language}\n{code}\n```")  # inside `<details>`, JupyterLab gives code itself no margin


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
