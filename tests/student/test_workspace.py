"""Test a student's workspace: lessons appear complete, and no work of the student is ever overwritten."""

import os
import time
from pathlib import Path

import pytest

from jaxguide.student import workspace
from jaxguide.student.workspace import FileState, lay_workspace


@pytest.fixture
def printed(tmp_path: Path) -> Path:
    folder = tmp_path / "printed"
    folder.mkdir()
    (folder / "lesson.ipynb").write_text("{}")
    (folder / "lesson.py").write_text("x = 1\n")
    (folder / "notes.txt").write_text("not a lesson")
    return folder


def states(folder: Path, printed: Path) -> dict[str, FileState]:
    return {laid.path.name: laid.state for laid in lay_workspace(folder, printed)}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_lessons_are_laid_once_and_then_left_alone(tmp_path: Path, printed: Path) -> None:
    mine = tmp_path / "deep" / "mine"
    assert states(mine, printed) == {"lesson.ipynb": FileState.NEW, "lesson.py": FileState.NEW}
    assert names(mine) == {"lesson.ipynb", "lesson.py"}
    (mine / "lesson.py").write_text("x = 2\n")
    assert states(mine, printed) == {"lesson.ipynb": FileState.CURRENT, "lesson.py": FileState.KEPT}
    assert (mine / "lesson.py").read_text() == "x = 2\n"


def test_a_newer_lesson_does_not_replace_the_students(tmp_path: Path, printed: Path) -> None:
    mine = tmp_path / "mine"
    lay_workspace(mine, printed)
    (printed / "lesson.py").write_text("x = 3\n")
    assert states(mine, printed)["lesson.py"] is FileState.KEPT
    assert (mine / "lesson.py").read_text() == "x = 1\n"


def test_a_laid_file_is_readable_like_any_other(tmp_path: Path, printed: Path) -> None:
    mine = tmp_path / "mine"
    lay_workspace(mine, printed)
    (tmp_path / "other").write_text("")
    assert (mine / "lesson.py").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_file_that_appears_meanwhile_is_kept(
    tmp_path: Path, printed: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    target = mine / "lesson.py"
    create = workspace._create

    def late(path: Path, content: bytes) -> bool:
        path.write_text("from another program")
        return create(path, content)

    monkeypatch.setattr(workspace, "_create", late)
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    assert states(mine, printed)["lesson.py"] is FileState.KEPT
    assert target.read_text() == "from another program"
    assert names(mine) == {"lesson.ipynb", "lesson.py"}


def refuse(*args: object) -> None:
    raise OSError("no links on this file system")


def test_lessons_are_laid_where_the_file_system_has_no_links(
    tmp_path: Path, printed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", refuse)
    mine = tmp_path / "mine"
    assert set(states(mine, printed).values()) == {FileState.NEW}
    assert names(mine) == {"lesson.ipynb", "lesson.py"}


def test_a_link_that_leads_nowhere_is_the_students_too(tmp_path: Path, printed: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "lesson.py").symlink_to(tmp_path / "nowhere")
    assert states(mine, printed)["lesson.py"] is FileState.KEPT
    assert not (tmp_path / "nowhere").exists()


def test_a_failed_write_leaves_nothing(tmp_path: Path, printed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workspace, "_move_without_overwriting", full)
    with pytest.raises(OSError, match="No space left"):
        lay_workspace(tmp_path / "mine", printed)
    assert names(tmp_path / "mine") == set()


def test_what_a_killed_run_left_is_removed_by_a_later_one(tmp_path: Path, printed: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    old, new = mine / ".jaxguide-0a.part", mine / ".jaxguide-0b.part"
    old.write_text("hal")
    new.write_text("of a run that is still going on")
    long_ago = time.time() - 1000
    os.utime(old, (long_ago, long_ago))
    lay_workspace(mine, printed)
    assert not old.exists()
    assert new.exists()
