"""Test a student's place in the course: what comes next, what is kept, and that two programs at once lose nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import Course
from jaxguide.course.progress import Progress
from jaxguide.course.settings import BUNDLED
from jaxguide.student.answers_in_files import FileAnswers
from jaxguide.student.standing import Position
from jaxguide.student.workspace import find_workspace


def name_of(place: Position) -> str | None:
    exercise = place.current()
    return exercise and exercise.name


def test_the_place_is_the_first_exercise_then_the_one_behind_the_last_that_passed(
    course: Course, tmp_path: Path
) -> None:
    place = Position(course, Progress(tmp_path))
    assert name_of(place) == "double"
    place.progress.update("triple", passed=True)
    place.progress.move_to("triple")
    assert name_of(place) == "predict_size"
    place.progress.move_to("quadruple")
    assert name_of(place) == "quadruple"
    place.progress.update("quadruple", passed=True)
    assert name_of(place) == "double"


def test_a_place_that_was_gone_to_is_kept_until_it_has_passed(course: Course, tmp_path: Path) -> None:
    Progress(tmp_path).move_to("predict_size")
    place = Position(course, Progress(tmp_path))
    assert name_of(place) == "predict_size"
    place.progress.update("predict_size", passed=True)
    assert name_of(place) == "quadruple"
    assert Progress(tmp_path).place == "predict_size"


def test_all_done_is_nowhere(course: Course, tmp_path: Path) -> None:
    place = Position(course, Progress(tmp_path))
    for exercise in place.exercises:
        place.progress.update(exercise.name, passed=True)
    assert place.current() is None


def test_only_lessons_that_are_there_are_to_do(course: Course, tmp_path: Path) -> None:
    files = [FileAnswers(tmp_path / "more.py", {"quadruple": "line 1"}, {})]
    assert name_of(Position(course, Progress(tmp_path), files)) == "quadruple"


def test_a_notebook_and_a_terminal_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom jaxguide.course.progress import Progress\n"
        "progress = Progress(Path(sys.argv[1]))\n"
        "for n in range(15): progress.update(f'{sys.argv[2]}{n}', hints=n)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    both = [subprocess.Popen([*command, name]) for name in ("a", "b")]
    assert [process.wait() for process in both] == [0, 0]
    assert len(Progress(tmp_path).everything()) == 30


def test_the_workspace_is_found_here_or_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    course = course_folders()
    assert find_workspace(course, BUNDLED) == Path()
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "random_numbers.ipynb").write_text("{}")
    assert find_workspace(course, BUNDLED) == Path("workspace")
    (tmp_path / ".jaxguide").mkdir()
    for name in (".jaxguide/progress.json", "jaxguide-progress.json"):
        (tmp_path / name).write_text("{}")
        assert find_workspace(course, BUNDLED) == Path(), name
        (tmp_path / name).unlink()
    assert find_workspace(course, BUNDLED) == Path("workspace")
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", "/opened")
    assert find_workspace(course, BUNDLED) == Path("/opened")
