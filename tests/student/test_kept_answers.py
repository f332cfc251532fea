"""Test the cache of a workspace's answers: files are read again if they or the cache changed."""

from pathlib import Path
from typing import Any

import pytest
from two_lessons import answer

from jaxguide.course.books.library import Course
from jaxguide.student import answers_in_files
from jaxguide.student.answers_in_files import FileAnswers, read_all


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache, and return its folder for answers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "jaxguide" / "answers"


def plain(files: list[FileAnswers]) -> list[tuple[Any, ...]]:
    return [(file.path, dict(file.places), dict(file.prints), file.broken, file.changed_s) for file in files]


def refuse(path: Path, content: bytes) -> None:
    raise AssertionError(f"{path} was read as code")


def test_what_is_kept_is_what_was_read(workspace: Path, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(workspace / "multiply.py", "double", "return 2 * x")
    (workspace / "broken.py").write_text("def quadruple(x):\n    return 4 * x\n\n\ndef helper(:\n    pass\n")
    first = plain(read_all(workspace, course))
    assert plain(read_all(workspace, course)) == first
    monkeypatch.setattr(answers_in_files, "parse_submission", refuse)
    again = read_all(workspace, course)
    names = {file.path.name: (sorted(file.places), sorted(file.prints), len(file.broken)) for file in again}
    every = ["double", "predict_size", "triple"]
    assert names == {
        "broken.py": (["quadruple"], ["quadruple"], 1),
        "more.ipynb": (["quadruple"], [], 0),
        "more.py": (["quadruple"], [], 0),
        "multiply.ipynb": (every, [], 0),
        "multiply.py": (every, ["double"], 0),
    }


def test_of_a_file_that_changed_the_answers_are_those_of_now(workspace: Path, course: Course) -> None:
    for factor in ("2", "3"):
        answer(workspace / "multiply.py", "double", f"return {factor} * x")
        (before,) = (file.prints["double"] for file in read_all(workspace, course) if file.prints)
        (now,) = (file.prints["double"] for file in read_all(workspace, course) if file.prints)
        assert before == now
    (workspace / "multiply.py").unlink()
    assert not [file for file in read_all(workspace, course) if file.prints]


def test_a_damaged_cache_is_not_used(workspace: Path, course: Course, kept: Path) -> None:
    expected = plain(read_all(workspace, course))
    (path,) = kept.iterdir()
    path.write_text('{"cut off": ')
    assert plain(read_all(workspace, course)) == expected


def test_a_file_without_an_exercises_name_is_not_read_as_code(
    workspace: Path, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in workspace.glob("m*"):
        path.unlink()
    (workspace / "other.py").write_text("def doubled(x):\n    return 2 * x\n")
    monkeypatch.setattr(answers_in_files, "parse_submission", refuse)
    assert read_all(workspace, course) == []
