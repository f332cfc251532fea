"""Write a submission as a notebook in the layout of each grader."""

import hashlib
import json
from pathlib import Path
from typing import Any

from assignment import ANSWERS, IMPORTS, TESTS, Kind

HIDDEN_BEGIN, HIDDEN_END = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"


def _cell(source: str, place: int, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": hashlib.sha256(f"{place}:{source}".encode()).hexdigest()[:12],
        "execution_count": None,
        "metadata": metadata or {},
        "outputs": [],
        "source": source,
    }


def _nbgrader_cell(source: str, place: int, grade_id: str, points: int | None) -> dict[str, Any]:
    plain: dict[str, Any] = {"schema_version": 3, "grade_id": grade_id, "task": False}
    plain |= {"grade": points is not None, "solution": points is None, "locked": points is not None}
    if points is not None:
        plain["points"] = points
    return _cell(source, place, {"nbgrader": plain})


def notebook(kind: Kind, grader: str, is_source: bool = False) -> str:
    """Return the text of a submission's notebook.

    Args:
        kind: the submission.
        grader: "jaxguide", "otter" or "nbgrader".
        is_source: whether to add nbgrader's solution and hidden test marks, as in the instructor's notebook.
    """
    cells = [_cell(IMPORTS, 0)]
    if grader == "otter":
        cells.insert(0, _cell("import otter\ngrader = otter.Notebook()", -1))
    for name, source in kind.cells:
        place = len(cells)
        if grader != "nbgrader":
            cells.append(_cell(source, place))
            if grader == "otter":
                cells.append(_cell(f'grader.check("{name}")', place + 1))
            continue
        if is_source:
            source = f"### BEGIN SOLUTION\n{source}\n### END SOLUTION"
        visible, hidden = TESTS[name]
        shown = f"{HIDDEN_BEGIN}\n{hidden}\n{HIDDEN_END}" if is_source else ""
        cells.append(_nbgrader_cell(source, place, name, None))
        cells.append(_nbgrader_cell(visible, place + 1, f"{name}-visible", 1))
        cells.append(_nbgrader_cell(shown, place + 2, f"{name}-hidden", 1))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    plain = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    text = json.dumps(plain, indent=1)
    return text[: len(text) // 2] if kind.is_truncated else text


def write_otter_tests(folder: Path) -> None:
    """Write a test file for each exercise, in otter-grader's function format."""
    folder.mkdir(parents=True)
    for name, tests in TESTS.items():
        lines = ["from otter.test_files import test_case", "OK_FORMAT = False", f'name = "{name}"', "points = 2", ""]
        for word, source in zip(("visible", "hidden"), tests, strict=True):
            lines += [f"@test_case(points=1, hidden={word == 'hidden'})", f"def test_{word}({name}):"]
            lines += [f"    {line}" for line in source.splitlines()] + [""]
        (folder / f"{name}.py").write_text("\n".join(lines))


def source_kind() -> Kind:
    """Return the instructor's version: the key's answers in order."""
    return Kind("source", tuple(ANSWERS.items()), 10)
