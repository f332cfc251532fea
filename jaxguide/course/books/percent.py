"""Split percent-format Python into cells, and run parts of it such that errors name file and line."""

import ast
import contextlib
import dataclasses
import io
import linecache
import re
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxguide.course.exercise import AuthorError, Mistakes

BOOK_KINDS = {None: "example", "[markdown]": "prose", "exercise": "exercise", "check": "check"}
"""The title of a book's cell -> its kind; `documented`, with the ids of documented examples, is a kind, too."""
_MARKER = re.compile(r"^# %%(?:[ \t]+(\S.*?))?[ \t]*$")


@dataclasses.dataclass(frozen=True)
class PercentCell:
    """One cell: its kind (in a key, the exercise's name), its source without the marker, the marker's line and ids."""

    kind: str
    source: str
    line: int
    ids: tuple[str, ...] = ()

    @property
    def prose(self) -> str:
        """The Markdown of a prose cell."""
        return uncommented(self.source)


def uncommented(text: str) -> str:
    """Return the text of comment lines."""
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines())


def split_cells(text: str) -> list[tuple[str | None, str, int]]:
    """Split percent-format text into (title, source, line of the marker); text before the first marker has line 0.

    >>> split_cells("# %% [markdown]\\n# Hello\\n\\n# %%\\nx = 1\\n")
    [('[markdown]', '# Hello', 1), (None, 'x = 1', 4)]
    """
    found: list[tuple[str | None, list[str], int]] = [(None, [], 0)]
    # Not `splitlines`: it also splits at form feeds and similar characters, which Python does not count as line ends.
    for number, line in enumerate(text.split("\n"), 1):
        match = _MARKER.match(line)
        if match:
            found.append((match[1], [], number))
        else:
            found[-1][1].append(line)
    cells = [(title, "\n".join(lines).strip("\n"), line) for title, lines, line in found]
    return cells[1:] if not cells[0][1].strip() else cells


def parse_cells(path: Path, kinds: Mapping[str | None, str] | None) -> list[PercentCell]:
    """Read a book's or key's cells; see `check_syntax` for their code.

    Args:
        path: the file.
        kinds: title -> kind for a book; None for a key, whose titles are exercise names.

    Raises:
        AuthorError: the file cannot be read as cells, or the kind of a cell is unknown.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AuthorError(path, 1, f"cannot be read: {error}") from None
    cells = []
    for title, source, line in split_cells(text):
        if line == 0:
            raise AuthorError(path, 1, "there is text before the first cell; start the file with `# %%`")
        ids = tuple(title.split()[1:]) if kinds and title and title.startswith("documented ") else ()
        if kinds is not None and title not in kinds and not ids:
            kinds_said = "`# %%`, `# %% [markdown]`, `# %% exercise`, `# %% check` or `# %% documented S1-09`"
            raise AuthorError(path, line, f"`# %% {title}` is not a kind of cell; use {kinds_said}")
        kind = "documented" if ids else kinds[title] if kinds is not None else (title or "")
        cells.append(PercentCell(kind, source, line, ids))
    return cells


def check_syntax(path: Path, cells: Iterable[PercentCell], prose: str) -> None:
    """Check that Python can read the code of a book or key, and that its prose is comments.

    Args:
        path: the file.
        cells: its cells.
        prose: the kind of its cells of prose.

    Raises:
        AuthorError: it cannot; the error has the mistakes of all cells.
    """
    mistakes = Mistakes()
    for cell in cells:
        with mistakes.noted():
            if cell.kind != prose:
                parse_code(path, cell)
                continue
            for offset, text in enumerate(cell.source.split("\n"), 1):
                if text and not text.startswith("#"):
                    raise AuthorError(path, cell.line + offset, "a line of prose must start with `#`")
    mistakes.tell()


def parse_code(path: Path, cell: PercentCell) -> ast.Module:
    """Parse the code of a cell.

    Raises:
        AuthorError: it has a syntax error.
    """
    try:
        return ast.parse(cell.source)
    except SyntaxError as error:
        message = f"syntax error: {error.msg}"
        if cell.kind == "exercise" and not re.search(r"^\s*(def|@)", cell.source, re.MULTILINE):
            message = "an exercise is a Python function; free text is not supported: ask for a value or a choice"
        raise AuthorError(path, cell.line + (error.lineno or 1), message) from None


def run_cell(path: Path, source: str, first_line: int, namespace: dict[str, Any]) -> None:
    """Run code from an author's file in `namespace`. Tracebacks show its lines, and its output is discarded.

    Raises:
        AuthorError: the code raised; the line is the innermost one in this file.
    """
    linecache.checkcache(str(path))
    try:
        code = compile("\n" * (first_line - 1) + source, str(path), "exec")
        # Discard what examples print, since loading a book should not print anything.
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, namespace)
    except AuthorError:
        raise
    except (Exception, SystemExit) as error:
        steps = traceback.walk_tb(error.__traceback__)
        lines = [number for frame, number in steps if frame.f_code.co_filename == str(path)]
        raise AuthorError(path, lines[-1] if lines else first_line, f"{type(error).__name__}: {error}") from error


def decorator_name(decorator: ast.expr) -> str:
    """Return the name of a decorator, called or not."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def decorator_line(node: ast.FunctionDef, cell: PercentCell) -> int:
    """Return the line in the file of a function's first decorator, or of its `def`."""
    return cell.line + min([node.lineno, *(d.lineno for d in node.decorator_list)])
