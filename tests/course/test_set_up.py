"""Test that a course's settings hold wherever its lessons run: each place is a process of its own, as for users."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from needs import ON_THE_NEWEST, needs_program
from set_up_course import RIGHT, write_set_up_course

from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import Course, read_outline

PACKAGE = Path(__file__).parents[2] / "jaxguide"


def python(*arguments: object, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, as a user without settings of their own does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    environment = {**kept, "PYTHONPATH": str(PACKAGE.parent), "JAX_PLATFORMS": "cpu", **variables}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def jaxguide(*arguments: object, folder: Path, **variables: str) -> str:
    """Run a command that must succeed, and return what it printed."""
    done = python("-m", "jaxguide", *arguments, folder=folder, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """Return a file with the right answer, in a folder of its own."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "ada.py").write_text(RIGHT)
    return folder / "ada.py"


def test_they_hold_where_submissions_are_graded(set_up_course: Path, right: Path, tmp_path: Path) -> None:
    said = jaxguide("grade", right.relative_to(tmp_path), "--course", set_up_course.name, "--json", folder=tmp_path)
    marks = json.loads(said)
    (graded,) = marks["submissions"]
    assert (graded["score"], marks["complete"]) == (1.0, True), graded
    assert "Grading of Set up" in (tmp_path / "results" / "report.html").read_text()


@pytest.mark.long
def test_they_hold_where_a_student_checks_a_file(set_up_course: Path, right: Path, tmp_path: Path) -> None:
    said = jaxguide("check", right.relative_to(tmp_path), "--course", set_up_course.name, "--json", folder=tmp_path)
    found = json.loads(said)
    assert [one["verdict"] for one in found["exercises"]] == ["passed"]


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2])
def test_they_hold_where_the_course_is_proven(set_up_course: Path, tmp_path: Path, jobs: int) -> None:
    jaxguide("print", "--course", set_up_course.name, folder=tmp_path)
    said = jaxguide("verify", "--course", set_up_course.name, "--jobs", jobs, folder=tmp_path)
    assert "all proven" in said


def as_installed(top: Path) -> Path:
    """Make the course the one that comes with jaxguide, as in a clone; return the folder of printed lessons."""
    (top / "jaxguide").symlink_to(PACKAGE)
    (top / "pyproject.toml").touch()
    jaxguide("print", folder=top, PYTHONPATH=str(top))
    return top / "notebooks"


@pytest.mark.long
def test_they_hold_in_a_students_session(tmp_path: Path) -> None:
    top = write_set_up_course(tmp_path / "clone")
    lesson = as_installed(top) / "weights.py"
    text = lesson.read_text().replace("    return OFFSET\n", "    return OFFSET * TABLE[-1] * x / jax.device_count()\n")
    here = tmp_path / "workspace"
    here.mkdir()
    (here / "weights.py").write_text(text)
    done = python("weights.py", folder=here, PYTHONPATH=str(top))
    assert done.returncode == 0, done.stderr
    assert "4 cpu" in done.stdout, done.stdout
    assert (here / "data" / "table.txt").read_text() == (top / "notebooks" / "data" / "table.txt").read_text()
    assert json.loads((here / ".jaxguide" / "progress.json").read_text())["exercises"]["weighted"]["passed"]
    late = "import jax; jax.devices(); from jaxguide.lesson import start; start('weights')"
    done = python("-c", late, folder=here, PYTHONPATH=str(top))
    assert "the course needs 4 CPU devices, but JAX has started with 1" in " ".join(done.stdout.split()), done.stderr


@ON_THE_NEWEST
def test_they_hold_on_gradescope(set_up_course: Path, right: Path, tmp_path: Path) -> None:
    needs_program("bash")
    root = tmp_path / "autograder"
    (root / "results").mkdir(parents=True)
    (root / "submission").mkdir()
    right.rename(root / "submission" / "ada.py")
    jaxguide("export", "gradescope", "--course", set_up_course, "--trust-submissions", folder=tmp_path)
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        archive.extractall(root / "source")
    jaxguide("export", "fill-gradescope", root, folder=tmp_path)
    jaxguide("export", "run-gradescope", root, folder=tmp_path)
    assert json.loads((root / "results" / "results.json").read_text())["score"] == 1.0


_ON_A_CLUSTER = """\
import subprocess, sys

from distributed import LocalCluster

if __name__ == "__main__":
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
    with LocalCluster(processes=True, **options) as made:
        command = [sys.executable, "-m", "jaxguide", "grade", *sys.argv[1:], "--scheduler", made.scheduler_address]
        sys.exit(subprocess.run(command).returncode)
"""


@ON_THE_NEWEST
def test_they_hold_on_a_cluster(set_up_course: Path, right: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    (tmp_path / "on_a_cluster.py").write_text(_ON_A_CLUSTER)
    done = python("on_a_cluster.py", right, "--course", set_up_course, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (graded,) = json.loads((tmp_path / "results" / "results.json").read_text())["submissions"]
    assert graded["score"] == 1.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("import jax; jax.devices()", "the course needs 4 CPU devices, but JAX has started with 1"),
        (
            "from jaxguide.course.set_up import set_up_process as s; s(x64=True, devices=None, environment={})",
            "this process was set up for a course with other settings",
        ),
    ],
)
def test_a_process_that_cannot_be_set_up_is_told(set_up_course: Path, tmp_path: Path, before: str, said: str) -> None:
    load = "from pathlib import Path; from jaxguide.course.books.library import load_course"
    done = python("-c", f"{before}\n{load}\nload_course(Path({str(set_up_course)!r}))", folder=tmp_path)
    assert done.returncode == 1
    assert f"{set_up_course / 'course.toml'}:1: {said}" in done.stderr


def test_settings_that_can_change_marks_count_in_the_digest(tiny: Path) -> None:
    def digest(settings: str) -> str:
        (tiny / "course.toml").write_text(settings)
        outline = read_outline(tiny)
        return course_digest(Course(outline.folders, {}, outline.settings))

    plain = digest("")
    assert digest('title = "x"\nlessons = ["tiny"]\n[limits]\ncpu = 3\n') == plain
    others = {digest("x64 = true"), digest("devices = 2"), digest('[environment]\nA = "b"\n')}
    for content in "12":
        (tiny / "exercises" / "a.txt").write_text(content)
        others.add(digest('files = ["a.txt"]'))
    assert len({plain, *others}) == 6


@pytest.mark.long
def test_what_submissions_write_stays_with_them_and_the_files_cost_them_no_room(
    set_up_course: Path, tmp_path: Path
) -> None:
    """One replaces the file for itself; another fills its scratch folder up to the limit."""
    (set_up_course / "exercises" / "data" / "large.txt").write_bytes(b" " * 2**22)
    settings = (set_up_course / "course.toml").read_text()
    (set_up_course / "course.toml").write_text(
        settings.replace('"data/table.txt"', '"data/table.txt", "data/large.txt"')
    )
    (tmp_path / "submissions").mkdir()
    replaces = 'os.unlink("data/table.txt")\nopen("data/table.txt", "w").write("0 0")\n'
    fills = 'open("mine", "wb").write(b" " * 2**20)\n'
    for name, more in (("eve", replaces), ("fay", fills), ("zoe", "")):
        (tmp_path / "submissions" / f"{name}.py").write_text(RIGHT.replace("import os\n", f"import os\n\n{more}", 1))
    options = ("--course", set_up_course, "--limits", "scratch=2MB", "--jobs", "1", "--json")
    marks = json.loads(jaxguide("grade", "submissions", *options, folder=tmp_path))
    assert {one["student"]: one["score"] for one in marks["submissions"]} == {"eve": 0.0, "fay": 1.0, "zoe": 1.0}
    assert (set_up_course / "exercises" / "data" / "table.txt").read_text() == "2.5\n7.25\n"
