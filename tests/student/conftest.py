"""Fixtures for student sessions: a small course of two lessons, and a workspace with its files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from two_lessons import write_course

from jaxguide.course.books.library import Course
from jaxguide.student.workspace import lay_workspace


@pytest.fixture(scope="session", autouse=True)
def no_other_workspace() -> Iterator[None]:
    """Hide the workspace of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JAXGUIDE_WORKSPACE", raising=False)
        yield


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return write_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def workspace(tmp_path: Path, course: Course) -> Path:
    folder = tmp_path / "workspace"
    lay_workspace(folder, course, scripts=True)
    return folder
