"""Read a submission, a notebook or a Python file, as code cells, without running them."""

import ast
import codecs
import dataclasses
import io
import itertools
import json
import re
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from jaxguide.code.as_ipython import (
    LINE_LIMIT,
    MAGICS_LIMIT,
    UNREADABLE,
    CellCode,
    as_ipython,
    is_python,
    logical_lines,
)
from jaxguide.code.slices import bound_names, first_line_of
from jaxguide.course.books.percent import split_cells
from jaxguide.course.verdict import ErrorInfo

FILE_LIMIT_BYTES = 50 * 2**20
CELL_LIMIT = 200_000
CELLS_LIMIT = 3_000
CODE_LIMIT = 1_000_000
TOO_MUCH_CODE = f"The file contains more than {CODE_LIMIT} characters of code."
SUFFIXES = (".ipynb", ".py")
ARCHIVE_SUFFIX = ".zip"
OTHER_ARCHIVES = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz")


class UnreadableSubmission(Exception):
    """A file cannot be read as a submission; the message says why in one sentence."""


def is_submission(path: PurePath) -> bool:
    """Return whether a file's suffix is that of a notebook or of Python, in lower or upper case."""
    return path.suffix.lower() in SUFFIXES


def wrong_kind(path: PurePath) -> str:
    """Return why a file cannot be a submission, judging by its suffix, or '' if it can."""
    if path.suffix.lower() in OTHER_ARCHIVES:
        return "Archives of this kind are not supported; hand in a zip archive, or the file itself."
    return "" if is_submission(path) else "The file is neither a notebook (.ipynb) nor Python (.py)."


def why_passed_over(path: str) -> str:
    """Return why a file beside submissions has no row."""
    return wrong_kind(PurePath(path)) or "The file answers no exercise."


def is_notebook(path: PurePath) -> bool:
    """Return whether a file's suffix is that of a notebook."""
    return path.suffix.lower() == ".ipynb"


@dataclasses.dataclass(frozen=True)
class CodeCell:
    """What is known of a code cell.

    Args:
        label: its name in reports: 'code cell 3', or 'line 12' of a Python file.
        source: its Python, see `as_ipython`; empty lines in front make its line numbers those of a Python file.
        rejected: a sentence that says why Python cannot even parse it, '' if it can.
    """

    number: int
    label: str
    source: str
    magics: list[str]
    error: ErrorInfo | None
    rejected: str


@dataclasses.dataclass(frozen=True)
class SubmittedCell(CodeCell):
    """One code cell and its syntax tree, None if it is not valid Python.

    Args:
        defines: the names that its statements bind, as far as they are known.
        not_python: the magic and the text of each part that is not Python, as below `%%bash`.
    """

    tree: ast.Module | None
    defines: frozenset[str]
    not_python: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Submission:
    """The code cells of one file, and the kind and the text of each other cell of a notebook."""

    path: Path
    cells: list[SubmittedCell]
    other_cells: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def topics(self) -> list[str]:
        """Return the lessons that the file names with `start("topic")`."""
        return [topic for topic, _course in self.starts()]

    def starts(self) -> list[tuple[str, str]]:
        """Return each lesson that the file starts, with the identity of its course, '' if it gives none."""
        found = []
        for node in (node for cell in self.cells if cell.tree for node in ast.walk(cell.tree)):
            match node:
                case ast.Call(
                    func=ast.Name("start") | ast.Attribute(attr="start"), args=[ast.Constant(str(topic)), *more]
                ) if topic:
                    course = [*more[:1], *(one.value for one in node.keywords if one.arg == "course")]
                    identity = course[0].value if course and isinstance(course[0], ast.Constant) else ""
                    found.append((topic, identity if isinstance(identity, str) else ""))
        return found


def read_submission(path: Path) -> Submission:
    """Read a file's cells.

    Raises:
        UnreadableSubmission: the file cannot be read, is not a notebook, or contains no code.
    """
    return parse_submission(path, read_file(path))


def parse_submission(path: Path, content: bytes) -> Submission:
    """Return the cells of a file with this content.

    Raises:
        UnreadableSubmission: the file is not a notebook, is not text, or contains no code.
    """
    text = decoded(path, content)[0]
    others: list[tuple[str, str]] = []
    if is_notebook(path):
        cells = [(kind, _source(cell)) for kind, cell in _notebook_cells(text)]
        sources = [source for kind, source in cells if kind == "code"]
        labelled = [(f"code cell {n}", source) for n, source in enumerate(sources, 1)]
        others = [(kind, source) for kind, source in cells if kind != "code"]
    else:
        labelled = list(_script_cells(path.name, text))
    if not any(source.strip() for _label, source in labelled):
        raise UnreadableSubmission("The file contains no code.")
    if len(labelled) > CELLS_LIMIT:
        raise UnreadableSubmission(f"The file contains {len(labelled)} code cells.")
    if any(len(source) > CELL_LIMIT for _label, source in labelled):
        raise UnreadableSubmission(f"A cell contains more than {CELL_LIMIT} characters.")
    return Submission(path, [_cell(number, *parts) for number, parts in enumerate(labelled, 1)], others)


def read_file(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        UnreadableSubmission: the file cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise UnreadableSubmission(f"The file cannot be read: {error.strerror}.") from None
    if len(content) > FILE_LIMIT_BYTES:
        raise UnreadableSubmission(f"The file is larger than {FILE_LIMIT_BYTES // 2**20} MB; clear its outputs.")
    return content


def decoded(path: PurePath, content: bytes) -> tuple[str, str]:
    """Return a file's text, with `\\n` as line ends, and its encoding: that of its byte order mark or declaration.

    >>> decoded(PurePath("hw.py"), "x = 1".encode("utf-16"))
    ('x = 1', 'utf-16')

    Raises:
        UnreadableSubmission: the file is empty or not text.
    """
    if not content.strip():
        raise UnreadableSubmission("The file is empty.")
    encoding = _encoding(path, content)
    try:
        return _with_line_feeds(content.decode(encoding)), encoding
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        message = f"The file is not text: its byte {error.start} is not {name}. Save it as UTF-8."
    except (LookupError, UnicodeError):
        message = f"The file's encoding, `{encoding}`, is not known. Save the file as UTF-8."
    raise UnreadableSubmission(message)


def _encoding(path: PurePath, content: bytes) -> str:
    # The mark of UTF-32 begins with that of UTF-16.
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    if is_notebook(path):
        return json.detect_encoding(content[:4])
    try:
        return tokenize.detect_encoding(io.BytesIO(content).readline)[0]
    except SyntaxError:
        declared = _DECLARED.match(content)
        return declared[1].decode() if declared else "utf-8"


_MARKS = {
    **dict.fromkeys((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-32"),
    **dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16"),
    codecs.BOM_UTF8: "utf-8-sig",
}
# As PEP 263 has it, in the first or second line.
_DECLARED = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")


def _notebook_cells(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the cells of a notebook with their kinds."""
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        why = f"is damaged: line {error.lineno} is not JSON."
        if not text[error.pos :].strip() or "Unterminated" in error.msg:
            why = f"is cut off: it ends in the middle, at line {text.count(chr(10)) + 1}."
        raise UnreadableSubmission(f"The notebook {why}") from None
    except (RecursionError, ValueError):
        raise UnreadableSubmission("The notebook is damaged: it cannot be read as JSON.") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if isinstance(notebook, dict) and cells is None and isinstance(notebook.get("worksheets"), list):  # before 2015
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise UnreadableSubmission("The file is not a notebook: it has no list of cells.")
    return [(str(cell.get("cell_type")), cell) for cell in cells if isinstance(cell, dict)]


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    # JSON can contain lone surrogates, which Python cannot compile and terminals cannot print.
    return _with_line_feeds(source.encode("utf-8", "replace").decode()) if isinstance(source, str) else ""


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


_MARIMO = re.compile(
    r"^import marimo\b.*^app = marimo\.App\(.*^@app\.(?:cell|function|class_definition)\b", re.M | re.S
)


def _script_cells(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the label and the code of each part of a Python file that runs on its own, below empty lines.

    Parts begin at markers such as `# %%`, or else after empty lines. A part that Python cannot run is split into its
    statements, so that an error in one does not break the others.
    """
    if len(text) > CODE_LIMIT:
        raise UnreadableSubmission(TOO_MUCH_CODE)
    if _MARIMO.search(text):
        command = f"marimo export ipynb {name} -o answers.ipynb"
        why = "The file is a marimo notebook, which the grader cannot run."
        raise UnreadableSubmission(f"{why} Hand in the notebook that `{command}` writes.")
    lines = text.split("\n")
    inside = _inside(text)
    marks = [line for _title, _source, line in split_cells(text) if line and line not in inside]
    starts = [i for i, line in enumerate(lines, 1) if line[:1].strip() and i not in inside]
    if marks:
        spans = list(zip([1, *(mark + 1 for mark in marks)], [*marks, len(lines) + 1], strict=True))
        # Prose in a file is comments; keep a prose cell if there is code in it, since Python would run that too.
        is_code = [bool(line.strip()) and not line.startswith("#") for line in lines]
        spans = [(start, end) for start, end in spans if any(is_code[start - 1 : end - 1])]
    else:
        bounds = [1, *(i for i in starts if i > 1 and not lines[i - 2].strip()), len(lines) + 1]
        spans = list(itertools.pairwise(bounds))
    for start, end in spans:
        for first, source in _runnable(start, lines[start - 1 : end - 1], [i for i in starts if start <= i < end]):
            if source.strip():
                number = first + next(i for i, line in enumerate(source.split("\n")) if line.strip())
                yield f"line {number}", "\n" * (first - 1) + source


def _inside(text: str) -> set[int]:
    """Return the lines of a Python file that belong to a statement which began on an earlier one.

    If Python cannot parse the file, lines that are indented are not among them.
    """
    try:
        spans = [(first_line_of(node), node.end_lineno or 0) for node in ast.parse(text).body]
        return {number for first, last in spans for number in range(first + 1, last + 1)}
    except UNREADABLE:
        pass
    inside: set[int] = set()
    number, is_decorated = 1, False
    for part in logical_lines([f"{line}\n" for line in text.split("\n")]):
        if is_decorated or _GOES_ON.match(part[0]):
            inside.add(number)
        if part[0].strip() and not part[0].startswith("#"):
            is_decorated = part[0].startswith("@")
        inside.update(range(number + 1, number + len(part)))
        number += len(part)
    return inside


_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b|[)\]}]")


def _runnable(start: int, lines: list[str], starts: list[int]) -> Iterator[tuple[int, str]]:
    """Yield a part, or if Python cannot run it, each statement that it cannot run and what is between them.

    It begins at line `start`, and its statements at `starts`.
    """
    source = "\n".join(lines)
    if _can_run(as_ipython(source)):
        yield start, source
        return
    together = [start]
    for first, last in itertools.pairwise([start, *(i for i in starts if i > start), start + len(lines)]):
        code = CellCode("\n".join(lines[first - start : last - start]))
        if not is_python(code.python) or not _can_run(code):
            together += [first, last]
    for first, last in itertools.pairwise([*dict.fromkeys(together), start + len(lines)]):
        yield first, "\n".join(lines[first - start : last - start])


def _can_run(code: CellCode) -> bool:
    """Return whether Python can run code outside of a function."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(code.python, "<cell>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    except UNREADABLE:  # splitting it would not help
        pass
    return True


_DEFINITION = re.compile(r"^(?:async )?(?:def[ \t]+(\w+)|(\w+)[ \t]*=[^=])", re.MULTILINE)


def seen_definitions(text: str) -> frozenset[str]:
    """Return the names that code defines, as far as the beginnings of its lines tell.

    >>> sorted(seen_definitions("def f(x:\\n  return x\\ng = f"))
    ['f', 'g']
    """
    return frozenset(a or b for a, b in _DEFINITION.findall(text))


def _cell(number: int, label: str, source: str) -> SubmittedCell:
    code = as_ipython(source)
    tree, error, rejected = None, None, ""
    defines: frozenset[str] = frozenset()
    try:
        if "\0" in source:
            # Since Python 3.12 this is an ordinary SyntaxError, but no one types a null character by accident.
            raise ValueError
        tree = ast.parse(code.python)
        defines = frozenset().union(*(bound_names(node) for node in tree.body))
    except SyntaxError as wrong:
        error = ErrorInfo("SyntaxError", wrong.msg, wrong.lineno, (wrong.text or "").strip()[:300])
    except ValueError:
        rejected = "It contains characters that are not allowed in Python."
    except (MemoryError, RecursionError):
        rejected = "It is too large or nested too deeply for Python to read."
    if code.is_too_much:
        most = f"{MAGICS_LIMIT} magics and shell lines or more, or one with more than {LINE_LIMIT} characters"
        error, rejected = None, f"It contains {most}."
    if error is not None or rejected:
        tree, defines = None, seen_definitions(code.python)
    magics, python = list(code.magics), code.python
    return SubmittedCell(number, label, python, magics, error, rejected, tree, defines, code.not_python)
