"""Test which course is found: in zips that are new, old or damaged, in a workspace, and at a press of Tab."""

import os
import zipfile
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from jaxguide import lesson
from jaxguide.base.files import zip_bytes
from jaxguide.cli import main
from jaxguide.cli.common import course_meant
from jaxguide.student import workspace
from jaxguide.student.which_course import WhichCourse, course_named

HERE = "jaxguide_course/mine"
_BOOK = '''\
# %% check
from jaxguide.course.author import exercise, expect_that, visible

# %% [markdown]
# # Mine

# %% exercise
@exercise(title="One", hints=["?", "One: https://docs.jax.dev/", "return ____"])
def one_of_mine():
    """Return 1."""
    ...

# %% check
@visible(one_of_mine, idea="One.")
def it_is_one(answer, draw):
    """It is one."""
    expect_that(answer() == 1, "It should be 1.")
'''


def files(text: str = "1") -> dict[str, bytes]:
    return {f"{HERE}/course.toml": b'identity = "mine"\n', f"{HERE}/exercises/one.py": text.encode()}


def write_zip(path: Path, text: str = "1", age_s: float = 0.0, **more: str) -> Path:
    path.write_bytes(zip_bytes({**files(text), **{name: one.encode() for name, one in more.items()}}))
    at = path.stat().st_mtime - age_s
    os.utime(path, (at, at))
    return path


def lay_out(folder: Path, text: str = _BOOK) -> Path:
    for name, content in files(text).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder / HERE


def book(folder: Path) -> str:
    found = course_named("mine", [folder])
    assert found is not None
    return (found / "exercises" / "one.py").read_text()


# Zips


def test_an_unpack_that_is_interrupted_leaves_nothing_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_zip(tmp_path / "course.zip")

    def write(path: Path, content: bytes) -> None:
        if path.name == "one.py":
            raise KeyboardInterrupt
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    with monkeypatch.context() as patched:
        patched.setattr(workspace, "write_whole", write)
        with pytest.raises(KeyboardInterrupt):
            course_named("mine", [tmp_path])
    assert not (tmp_path / HERE / "course.toml").exists()
    assert book(tmp_path) == "1"


@pytest.mark.parametrize("place", ["course.toml", "one.py", "end"])
def test_a_damaged_zip_is_no_course_and_nothing_of_it_is_laid_out(tmp_path: Path, place: str) -> None:
    path = write_zip(tmp_path / "course.zip", "x" * 1000)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = next((one for one in archive.infolist() if one.filename.endswith(place)), None)
    at = len(content) - 30 if info is None else info.header_offset + 30 + len(info.filename)
    content[at : at + 8] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(WhichCourse, match="is not here"):
        course_named("mine", [tmp_path])
    assert not (tmp_path / HERE).exists()
    done = CliRunner().invoke(main, ["start", "--course", str(path), "--workspace", str(tmp_path / "work")])
    assert (done.exit_code, "cannot be unpacked" in " ".join(done.output.split())) == (2, True), done.output


def test_the_newest_zip_counts_and_replaces_an_older_course_but_no_answers(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", "new", age_s=100)
    write_zip(tmp_path / "b.zip", "old", age_s=200, **{f"{HERE}/exercises/gone.py": ""})
    (tmp_path / "one.py").write_text("my answer")
    assert book(tmp_path) == "new"
    (tmp_path / HERE / "exercises" / "one.py").write_text("newer than all zips")
    assert book(tmp_path) == "newer than all zips"
    (tmp_path / HERE / "exercises" / "gone.py").write_text("")
    write_zip(tmp_path / "c.zip", "newest", age_s=-100)
    assert book(tmp_path) == "newest"
    assert not (tmp_path / HERE / "exercises" / "gone.py").exists()
    assert (tmp_path / "one.py").read_text() == "my answer"
    laid_at = (tmp_path / HERE / "course.toml").stat().st_ino
    assert book(tmp_path) == "newest"
    assert (tmp_path / HERE / "course.toml").stat().st_ino == laid_at, "it is unpacked once"


def test_what_would_lie_elsewhere_is_not_unpacked(tmp_path: Path) -> None:
    names = ("C:x.py", "C:/x.py", "/x.py", "../x.py", "a/../../x.py", "a\\..\\..\\x.py", "\\x.py", "\\\\host\\d\\x.py")
    write_zip(tmp_path / "course.zip", **{f"{HERE}/{name}": "" for name in names})
    assert book(tmp_path) == "1"
    assert {path.name for path in (tmp_path / HERE).rglob("*")} == {"course.toml", "exercises", "one.py"}
    assert {path.name for path in tmp_path.iterdir()} == {"course.zip", "jaxguide_course"}


# The lesson of a notebook


@pytest.mark.parametrize("course", ["", "mine"])
def test_if_a_lesson_cannot_be_started_nothing_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], course: str
) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lesson, "_session", lesson._Session("random_numbers"))
    lesson.start("on", course=course)
    lesson.check("two_samples")
    lesson.hint("two_samples")
    said = capsys.readouterr().out.splitlines()
    assert [line.startswith("There is no lesson `on`.") for line in said] == [True] * 3


# The course of a command


def test_an_empty_workspace_does_not_hide_the_course_that_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    workspace = tmp_path / "work"
    workspace.mkdir()
    assert course_meant(None, workspace=workspace) == here
    (workspace / ".jaxguide").mkdir()
    kept = [".jaxguide/progress.json", ".jaxguide/progress-other.json"]
    for name in ("random_numbers.py", *kept, "jaxguide-progress.json", "jaxguide-progress-other.json"):
        (workspace / name).write_text("")
        assert course_meant(None, workspace=workspace) is None, name
        (workspace / name).unlink()
    assert course_meant(None, workspace=workspace) == here


def completed(*words: str) -> list[str]:
    complete = ShellComplete(main, {}, "jaxguide", "_JAXGUIDE_COMPLETE")
    return [one.value for one in complete.get_completions(list(words[:-1]), words[-1])]


def test_completion_unpacks_nothing_and_leaves_out_books_with_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_zip(tmp_path / "course.zip")
    (tmp_path / "answers.py").write_text('start("one", course="mine")\n')
    completed("check", "answers.py", "")
    assert not (tmp_path / HERE).exists()

    here = lay_out(tmp_path)
    assert completed("hint", "one_") == ["one_of_mine"]
    (here / "exercises" / "one.py").write_text(_BOOK.replace('"return ____"', '"return " + 2 * "__"'))
    assert completed("hint", "one_") == []
