"""Fixtures for grading: a small course, short limits, and a function that writes submissions."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small_course import write_course

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.limits import Limits


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    folder = tmp_path_factory.mktemp("course")
    write_course(folder)
    return load_course(folder)


@pytest.fixture
def quick() -> Limits:
    """Return limits that endless code soon reaches."""
    return Limits(cpu_s=2.0, idle_s=1.5)


@pytest.fixture
def notebook(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a notebook of code cells and returns its path."""

    def write(*sources: str, name: str = "ada.ipynb") -> Path:
        cells = [{"cell_type": "code", "metadata": {}, "source": source.splitlines(True)} for source in sources]
        path = tmp_path / "submissions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        return path

    return write
