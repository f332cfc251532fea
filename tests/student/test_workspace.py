"""Test a student's workspace: lessons appear complete, and no work of the student is ever overwritten."""

import os
from pathlib import Path

import pytest

from jaxguide.course.books.folders import CourseFolders
from jaxguide.course.books.outline import Outline
from jaxguide.student.workspace import lay_workspace


@pytest.fixture
def printed(tmp_path: Path) -> Outline:
    folder = tmp_path / "printed"
    folder.mkdir()
    (folder / "lesson.ipynb").write_text("{}")
    (folder / "lesson.py").write_text("x = 1\n")
    (folder / "notes.txt").write_text("not a lesson")
    return Outline(CourseFolders(tmp_path / "exercises", tmp_path / "solutions", folder), {})


def states(folder: Path, printed: Outline) -> dict[str, str]:
    return {laid.path.name: laid.state for laid in lay_workspace(folder, printed, scripts=True)}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_lessons_are_laid_once_and_then_left_alone(tmp_path: Path, printed: Outline) -> None:
    mine = tmp_path / "deep" / "mine"
    assert states(mine, printed) == {"lesson.ipynb": "new", "lesson.py": "new"}
    assert names(mine) == {"lesson.ipynb", "lesson.py"}
    (mine / "lesson.py").write_text("x = 2\n")
    assert states(mine, printed) == {"lesson.ipynb": "already there, unchanged", "lesson.py": "yours, kept as it is"}
    assert (mine / "lesson.py").read_text() == "x = 2\n"


def test_plain_files_are_laid_only_for_those_who_ask_or_have_some(tmp_path: Path, printed: Outline) -> None:
    mine = tmp_path / "mine"
    assert [laid.path.name for laid in lay_workspace(mine, printed)] == ["lesson.ipynb"]
    (mine / "lesson.py").write_text("x = 2\n")
    assert [laid.state for laid in lay_workspace(mine, printed)] == ["already there, unchanged", "yours, kept as it is"]


def test_a_newer_lesson_does_not_replace_the_students(tmp_path: Path, printed: Outline) -> None:
    mine = tmp_path / "mine"
    lay_workspace(mine, printed, scripts=True)
    (printed.folders.notebooks / "lesson.py").write_text("x = 3\n")
    assert states(mine, printed)["lesson.py"] == "yours, kept as it is"
    assert (mine / "lesson.py").read_text() == "x = 1\n"


def test_a_laid_file_is_readable_like_any_other(tmp_path: Path, printed: Outline) -> None:
    mine = tmp_path / "mine"
    lay_workspace(mine, printed, scripts=True)
    (tmp_path / "other").write_text("")
    assert (mine / "lesson.py").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_that_leads_nowhere_is_the_students_too(tmp_path: Path, printed: Outline) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "lesson.py").symlink_to(tmp_path / "nowhere")
    assert states(mine, printed)["lesson.py"] == "yours, kept as it is"
    assert not (tmp_path / "nowhere").exists()


def test_a_failed_write_leaves_nothing(tmp_path: Path, printed: Outline, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        lay_workspace(tmp_path / "mine", printed)
    assert names(tmp_path / "mine") == set()
