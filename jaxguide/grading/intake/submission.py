"""Read a submission, a notebook or a Python file, as code cells, without running them."""

import ast
import dataclasses
import json
import re
from pathlib import Path, PurePath
from typing import Any

from jaxguide.base.text import _
from jaxguide.code.slices import bound_names, first_line_of
from jaxguide.course.books.percent import split_cells
from jaxguide.course.verdict import ErrorInfo

# Cell magics whose cell contains Python, unlike `%%bash` or `%%html`.
_PYTHON_BELOW = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "mprun", "memit"})
# The cell is parsed again for each line removed; without a limit, thousands of magics would keep the grader busy.
_MOST = 300
_LINE = re.compile(r"^\s*(%|!|\?)|\?\s*$|^[\w\s,.\[\]]+=\s*(!|%\w)")


def without_magics(source: str) -> tuple[str, list[str]]:
    """Return the cell's Python with each magic line replaced by `pass`, and the lines removed.

    A cell that is valid Python is left alone, even if a string in it contains a line that looks like a magic.

    >>> without_magics("%matplotlib inline\\nx = 1")
    ('pass\\nx = 1', ['%matplotlib inline'])
    >>> without_magics("%%bash\\nls")
    ('', ['%%bash'])
    """
    lines = source.split("\n")
    removed: list[str] = []
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        removed.append(lines[first].strip())
        words = lines[first][2:].split()
        if not words or words[0] not in _PYTHON_BELOW:
            return "", removed
        lines[first] = ""
    while len(removed) < _MOST and (number := _wrong_line(lines)) is not None:
        line = lines[number]
        if not _LINE.search(line):
            break
        lines[number] = line[: len(line) - len(line.lstrip())] + "pass"
        removed.append(line.strip())
    return "\n".join(lines), removed


def _wrong_line(lines: list[str]) -> int | None:
    """Return the index of the line at which Python fails to parse the code, or None."""
    try:
        ast.parse("\n".join(lines))
    except SyntaxError as error:
        return min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    except (ValueError, MemoryError, RecursionError):
        return None
    return None


FILE_LIMIT_BYTES = 50 * 2**20
CELL_LIMIT = 200_000
CELLS_LIMIT = 3_000
SUFFIXES = (".ipynb", ".py")
OTHER_ARCHIVES = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz")


class UnreadableSubmission(Exception):
    """A file cannot be read as a submission; the message says why in one sentence."""


def is_submission(path: PurePath) -> bool:
    """Return whether a file's suffix is that of a notebook or of Python, in lower or upper case."""
    return path.suffix.lower() in SUFFIXES


def wrong_kind(path: PurePath) -> str:
    """Return why a file cannot be a submission, judging by its suffix, or '' if it can."""
    if path.suffix.lower() in OTHER_ARCHIVES:
        return _("Archives of this kind are not supported; hand in a zip archive, or the file itself.")
    return "" if is_submission(path) else _("The file is neither a notebook (.ipynb) nor Python (.py).")


def is_notebook(path: PurePath) -> bool:
    """Return whether a file's suffix is that of a notebook."""
    return path.suffix.lower() == ".ipynb"


@dataclasses.dataclass(frozen=True)
class SubmittedCell:
    """One code cell.

    Args:
        number: its number among the file's code cells, from 1.
        label: its name in reports: 'code cell 3', or 'line 12' of a Python file.
        source: its Python, without magics; empty lines in front make its line numbers those of a Python file.
        magics: the lines removed.
        tree: its syntax tree, None if it is not valid Python.
        error: the syntax error, if there is one.
        rejected: a sentence that says why Python cannot even parse it, '' if it can.
        defines: the names that its statements bind, as far as they are known.
    """

    number: int
    label: str
    source: str
    magics: tuple[str, ...]
    tree: ast.Module | None
    error: ErrorInfo | None
    defines: frozenset[str]
    rejected: str = ""


@dataclasses.dataclass(frozen=True)
class Submission:
    """The code cells of one file."""

    path: Path
    cells: list[SubmittedCell]

    def topics(self) -> list[str]:
        """Return the lessons that the file names with `start("topic")`."""
        return [topic for topic, _course in self.starts()]

    def starts(self) -> list[tuple[str, str]]:
        """Return each lesson that the file starts, with the identity of its course, '' if it gives none."""
        found = []
        for node in (node for cell in self.cells if cell.tree for node in ast.walk(cell.tree)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args:
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                course = [*node.args[1:2], *(one.value for one in node.keywords if one.arg == "course")]
                topic, identity = (_text(value) for value in (node.args[0], course[0] if course else None))
                if name == "start" and topic:
                    found.append((topic, identity))
        return found


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def read_submission(path: Path) -> Submission:
    """Read a file's cells.

    Raises:
        UnreadableSubmission: the file cannot be read, is not a notebook, or contains no code.
    """
    return parse_submission(path, _read(path))


def parse_submission(path: Path, content: bytes) -> Submission:
    """Return the cells of a file with this content.

    Raises:
        UnreadableSubmission: the file is not a notebook, is not text, or contains no code.
    """
    text = _decode(content)
    sources = _notebook_cells(text) if is_notebook(path) else _script_cells(text)
    if not any(source.strip() for _label, source in sources):
        raise UnreadableSubmission(_("The file contains no code."))
    if len(sources) > CELLS_LIMIT:
        raise UnreadableSubmission(_("The file contains {count} code cells.").format(count=len(sources)))
    if any(len(source) > CELL_LIMIT for _label, source in sources):
        raise UnreadableSubmission(_("A cell contains more than {count} characters.").format(count=CELL_LIMIT))
    return Submission(path, [_cell(number, *parts) for number, parts in enumerate(sources, 1)])


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > FILE_LIMIT_BYTES:
            size = FILE_LIMIT_BYTES // 2**20
            raise UnreadableSubmission(_("The file is larger than {size} MB; clear its outputs.").format(size=size))
        return path.read_bytes()
    except OSError as error:
        raise UnreadableSubmission(_("The file cannot be read: {error}.").format(error=error.strerror)) from None


def _decode(content: bytes) -> str:
    if not content.strip():
        raise UnreadableSubmission(_("The file is empty."))
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        message = _("The file is not text: its byte {place} is not UTF-8.").format(place=error.start)
        raise UnreadableSubmission(message) from None


def _notebook_cells(text: str) -> list[tuple[str, str]]:
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        at_end = not text[error.pos :].strip() or "Unterminated" in error.msg
        message = (
            _("The notebook is cut off: it ends in the middle, at line {line}.")
            if at_end
            else _("The notebook is damaged: line {line} is not JSON.")
        )
        line = text.count("\n") + 1 if at_end else error.lineno
        raise UnreadableSubmission(message.format(line=line)) from None
    except (RecursionError, ValueError):
        raise UnreadableSubmission(_("The notebook is damaged: it cannot be read as JSON.")) from None
    cells = _cells(notebook)
    if cells is None:
        raise UnreadableSubmission(_("The file is not a notebook: it has no list of cells."))
    sources = [_source(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    return [(_("code cell {number}").format(number=n), source) for n, source in enumerate(sources, 1)]


def _cells(notebook: Any) -> list[Any] | None:
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):  # the notebook format before 2015
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    return cells if isinstance(cells, list) else None


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    # JSON can contain lone surrogates, which Python cannot compile and terminals cannot print.
    return source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""


def _script_cells(text: str) -> list[tuple[str, str]]:
    cells = split_cells(text)
    if len(cells) == 1 and cells[0][2] == 0:
        parts = _chunks(text)
    else:
        lines = text.split("\n")
        bounds = [*(line for _title, _source, line in cells), len(lines) + 1]
        parts = [
            (start + 1, "\n".join(lines[start : end - 1]))
            for (_title, source, start), end in zip(cells, bounds[1:], strict=True)
            # Prose in a file is comments; keep a prose cell if there is code in it, since Python would run that too.
            if any(line.strip() and not line.startswith("#") for line in source.split("\n"))
        ]
    return [(_("line {number}").format(number=_first_code(n, s)), "\n" * (n - 1) + s) for n, s in parts if s.strip()]


def _first_code(number: int, source: str) -> int:
    return number + next(i for i, line in enumerate(source.split("\n")) if line.strip())


def _chunks(text: str) -> list[tuple[int, str]]:
    """Split a plain script before each unindented statement that follows an empty line, so that a part with a syntax
    error does not break the others."""
    lines = text.split("\n")
    try:
        spans = [(first_line_of(node), node.end_lineno or 0) for node in ast.parse(text).body]
        inside = {number for first, last in spans for number in range(first + 1, last + 1)}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        inside = set()
    starts = [1]
    for number, line in enumerate(lines[1:], 2):
        if line[:1].strip() and line[0] not in ")]}" and not lines[number - 2].strip() and number not in inside:
            starts.append(number)
    ends = [*starts[1:], len(lines) + 1]
    return [(start, "\n".join(lines[start - 1 : end - 1])) for start, end in zip(starts, ends, strict=True)]


_DEFINITION = re.compile(r"^(?:async )?(?:def[ \t]+(\w+)|(\w+)[ \t]*=[^=])", re.MULTILINE)


def _cell(number: int, label: str, source: str) -> SubmittedCell:
    code, magics = without_magics(source)
    tree, error, rejected = None, None, ""
    defines: frozenset[str] = frozenset()
    try:
        if "\0" in code:
            # Since Python 3.12 this is an ordinary SyntaxError, but no one types a null character by accident.
            raise ValueError
        tree = ast.parse(code)
        defines = frozenset().union(*(bound_names(node) for node in tree.body))
    except SyntaxError as wrong:
        error = ErrorInfo("SyntaxError", wrong.msg, wrong.lineno, (wrong.text or "").strip()[:300])
    except ValueError:
        rejected = _("It contains characters that are not allowed in Python.")
    except (MemoryError, RecursionError):
        rejected = _("It is too large or nested too deeply for Python to read.")
    if error is not None or rejected:
        tree, defines = None, frozenset(a or b for a, b in _DEFINITION.findall(code))
    return SubmittedCell(number, label, code, tuple(magics), tree, error, defines, rejected)
