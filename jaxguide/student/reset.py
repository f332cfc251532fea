"""Restore an exercise's stub in a student's file, and save their old answer to the workspace."""

import json
import re
import time
from pathlib import Path
from typing import Any

from jaxguide.base.files import write_whole
from jaxguide.code.as_ipython import as_ipython
from jaxguide.code.sameness import attached_to, cell_statements, given_in
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.percent import split_cells
from jaxguide.course.books.printer import printable_source, whole_source
from jaxguide.course.books.statement import heading
from jaxguide.course.exercise import Task
from jaxguide.grading.intake.submission import UnreadableSubmission, decoded, is_notebook

BACKUP_FOLDER = "old_answers"


def give_stub_back(path: Path, exercise: Task, book: Lesson, folder: Path) -> Path:
    """Replace an exercise's answer with its stub in a notebook or Python file; return the file with the old answer.

    A cell without other exercises is restored as a whole; elsewhere, only the function and the code given with it are
    replaced. The old answer is saved first.

    Args:
        path: the student's file, which defines the exercise.
        exercise: the exercise.
        book: its lesson.
        folder: the workspace, in which the old answer is saved.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: the file is not a notebook, or does not define the exercise.
    """
    try:
        text, encoding = decoded(path, path.read_bytes())
    except UnreadableSubmission as problem:
        raise ValueError(str(problem)) from None
    if is_notebook(path):
        changed, old = _in_notebook(json.loads(text), exercise, book)
    else:
        changed, old = _in_script(text, exercise, book)
    if not old:
        raise ValueError(f"{path.name} does not define `{exercise.name}`.")
    backup = _keep(old, exercise, path, folder)
    # A stub that an old encoding cannot express still becomes Python.
    write_whole(path, changed.encode(encoding, "backslashreplace"))
    return backup


def reset_sentence(path: Path, backup: Path, folder: Path) -> str:
    """Return a sentence that says what a reset did and where the old answer is."""
    said = "{file} has the empty function again. Your old answer is in {backup}."
    said = said.format(file=path.relative_to(folder), backup=backup.relative_to(folder))
    if is_notebook(path):
        said += " If the notebook is open, reload it (File > Reload Notebook from Disk)."
    return said


def _keep(old: list[str], exercise: Task, path: Path, folder: Path) -> Path:
    """Save the old answer to a new file; its suffix is `.txt` so that nothing takes it for an answer."""
    place = folder / BACKUP_FOLDER
    number = 1
    while (backup := place / f"{exercise.name}-{number}.txt").exists():
        number += 1
    head = f"# `{exercise.name}` in {path.name}, until {time.strftime('%Y-%m-%d %H:%M:%S')}"
    write_whole(backup, "\n\n".join([head, *(part.strip("\n") for part in old)]) + "\n")
    return backup


def _in_notebook(notebook: Any, exercise: Task, book: Lesson) -> tuple[str, list[str]]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("The file is not a notebook: it has no list of cells.")
    sources = [_source_of(cell) for cell in cells]
    old: list[str] = []
    for cell, source in zip(cells, sources, strict=True):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        changed = _without_answer(source, exercise, book, _whole_cell(sources, exercise), before=old)
        if changed is not None:
            old.append(source)
            cell.update(source=changed.splitlines(keepends=True), outputs=[], execution_count=None)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", old


def _source_of(cell: Any) -> str:
    source = cell.get("source", "") if isinstance(cell, dict) else ""
    return source if isinstance(source, str) else "".join(source)


def _whole_cell(sources: list[str], exercise: Task) -> str:
    """Return an exercise's printed cell; files printed by earlier versions have no statement above it."""
    is_stated = any(heading(exercise) in source for source in sources)
    return printable_source(exercise) if is_stated else whole_source(exercise)


def _in_script(text: str, exercise: Task, book: Lesson) -> tuple[str, list[str]]:
    lines = text.split("\n")
    bounds = [line for _title, _source, line in split_cells(text)]
    is_cells = bounds != [0]
    whole = _whole_cell([text], exercise) if is_cells else None
    old: list[str] = []
    parts: list[str] = []
    if bounds and bounds[0] > 1:
        parts.append("\n".join(lines[: bounds[0] - 1]))
    for start, end in zip(bounds, [*bounds[1:], len(lines) + 1], strict=True):
        marker, source = lines[max(0, start - 1) : start], "\n".join(lines[start : end - 1])
        changed = _without_answer(source, exercise, book, whole, before=old)
        if changed is not None:
            old.append(source if is_cells else _answer_of(source, exercise))
            source = changed.rstrip("\n") + source[len(source.rstrip("\n")) :]
        parts.append("\n".join([*marker, source]))
    return "\n".join(parts), old


def _answer_of(source: str, exercise: Task) -> str:
    lines = source.split("\n")
    spans = _spans(source, exercise.name, given_in(exercise).names)
    return "\n\n".join("\n".join(lines[start:end]) for start, end in spans)


def _without_answer(source: str, exercise: Task, book: Lesson, whole: str | None, before: list[str]) -> str | None:
    """Return a cell's source with the stub in place of the answer, or None if it has no answer.

    Only the first function in a file is replaced, none if the cells `before` have one; the rest is deleted. A cell
    without other exercises becomes `whole`; None if the file has no cells.
    """
    spans = _spans(source, exercise.name, given_in(exercise).names)
    if not spans:
        return None
    functions = [] if any(_spans(one, exercise.name) for one in before) else _spans(source, exercise.name)
    others = [name for name in book.exercise_names if name != exercise.name and _spans(source, name)]
    if whole is not None and functions and not others:
        return whole
    lines = source.split("\n")
    for start, end in reversed(spans):
        lines[start:end] = exercise.cell_source.split("\n") if (start, end) in functions[:1] else []
    return "\n".join(lines)


def _spans(source: str, name: str, given: frozenset[str] = frozenset()) -> list[tuple[int, int]]:
    """Return the lines, as (start, end), of each top-level statement that binds a name, or that binds or registers
    something on code given with it.

    If Python cannot parse the source, statements are recognized by how their lines begin.
    """
    found = cell_statements(as_ipython(source).python)
    if not found:
        return _spans_by_look(source.split("\n"), name)
    own = given | {name} if given else given
    kept = [s for s in found if name in s.binds or (not s.is_import and own & (s.binds | attached_to(s.source)))]
    return [(s.line - 1, s.line + s.source.count("\n")) for s in kept]


def _spans_by_look(lines: list[str], name: str) -> list[tuple[int, int]]:
    head = re.compile(rf"(?:async )?def[ \t]+{re.escape(name)}\b|{re.escape(name)}[ \t]*=[^=]")
    found = []
    for i, line in enumerate(lines):
        if head.match(line):
            start = i
            while start and lines[start - 1].startswith("@"):
                start -= 1
            end = i + 1
            while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t)]}"):
                end += 1
            while end > i + 1 and not lines[end - 1].strip():
                end -= 1
            found.append((start, end))
    return found
