"""Read and print the cells of a book that show documented examples: code, the documented output, and today's."""

import dataclasses
import re
import textwrap
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
    """Documented examples by id, with a sentence on what differs today, their code, and the output, once and today.

    `today` is '' if it is the same; `line` is that of the cell's marker.
    """

    ids: tuple[str, ...]
    sentence: str
    code: str
    documented: str
    today: str
    line: int


def documented_cells(path: Path, cells: Sequence[PercentCell], tasks: Sequence[Task]) -> list[DocumentedCell]:
    """Read the cells of a book that show documented examples; `tasks` has one for each of its exercise cells.

    Raises:
        AuthorError: a part is missing, or the exercise above does not reproduce an example.
    """
    found, mistakes, waiting = [], Mistakes(), iter(tasks)
    reproduced: tuple[str, ...] = ()
    for cell in cells:
        if cell.kind == "exercise":
            reproduced = next(waiting).reproduces
        elif cell.kind == "documented":
            with mistakes.noted():
                found.append(_documented_cell(path, cell, reproduced))
    mistakes.tell()
    return found


def _documented_cell(path: Path, cell: PercentCell, reproduced: tuple[str, ...]) -> DocumentedCell:
    for example in cell.ids:
        if example not in reproduced or example not in ledger.entries():
            message = f"{example} is not a documented example that the exercise above reproduces"
            raise AuthorError(path, cell.line, message)
    parts = _PARTS.fullmatch(f"{cell.source}\n")
    if parts is None:
        message = (
            "a documented example is comment lines, which say why its output differs today or that it does not, then "
            "code, then `# documented` and that output as comment lines, then, if today's differs, `# today` and it"
        )
        raise AuthorError(path, cell.line, message)
    sentence, documented, today = (uncommented(parts[number] or "") for number in (1, 3, 4))
    return DocumentedCell(cell.ids, sentence, parts[2].strip("\n"), documented, today, cell.line)


def folded(cell: DocumentedCell) -> str:
    """Return the Markdown of documented examples as students get it, folded."""
    title, address = ledger.page_of(cell.ids[0])
    is_said = all(ledger.entries()[example]["kind"].startswith(_SAID) for example in cell.ids)
    summary = f"<summary>The document's example, today: {title} ({', '.join(cell.ids)})</summary>"
    return "\n\n".join(
        [
            f"<details>\n{textwrap.fill(summary, 86)}",
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
