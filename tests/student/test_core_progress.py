"""Test the progress in a lesson with a core: what comes next, what is told apart, and lessons printed before."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from two_lessons import write_course

from jaxguide.base.render.terminal import plain_text
from jaxguide.cli import main
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.progress import Progress
from jaxguide.student.answers_in_files import read_answers
from jaxguide.student.reset import give_stub_back
from jaxguide.student.screen import help_card
from jaxguide.student.standing import ABOUT_MORE, Position, standing_card
from jaxguide.student.workspace import lay_workspace


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return a course, printed without a core, whose first lesson has since marked `double` as its core."""
    folder = tmp_path_factory.mktemp("course")
    write_course(folder)
    book = folder / "exercises" / "multiply.py"
    book.write_text(book.read_text("utf-8").replace('title="Twice"', 'title="Twice", core=True, minutes=4'), "utf-8")
    return load_course(folder, keys=False)


@pytest.fixture
def place(course: Course, tmp_path: Path) -> Position:
    return Position(course, Progress(tmp_path, course.identity))


@pytest.fixture
def passing(place: Position) -> Callable[[str], str]:
    """Return a function that passes an exercise, and returns what comes next."""

    def passing(name: str) -> str:
        place.progress.update(name, passed=True)
        place.progress.move_to(name)
        following = place.current()
        return following.name if following else ""

    return passing


def test_the_core_comes_first_in_the_whole_course(passing: Callable[[str], str]) -> None:
    names = ["double", "quadruple", "triple", "predict_size"]
    assert [passing(name) for name in names] == [*names[1:], ""]


def test_who_goes_beyond_the_core_stays_in_the_lesson(passing: Callable[[str], str]) -> None:
    assert passing("triple") == "double"
    assert passing("predict_size") == "double"
    assert passing("double") == "quadruple"


def test_behind_one_that_goes_beyond_a_finished_core_comes_the_next_one(passing: Callable[[str], str]) -> None:
    assert passing("double") == "quadruple"
    assert passing("triple") == "predict_size"
    assert passing("predict_size") == "quadruple"


def test_that_the_core_is_done_is_said_when_it_is(
    place: Position, course: Course, passing: Callable[[str], str]
) -> None:
    multiply, more = course.books.values()
    assert place.next_step(multiply) == "Next: Twice (`double`)."
    assert (
        place.next_step(multiply, "predict_size")
        == "Next: Predict: a size (`predict_size`). 1 earlier exercise is not done: `double`."
    )
    passing("double")
    said = "The core of this lesson is done. Next lesson: More (`more`)."
    assert place.next_step(multiply) == f"{said} 2 exercises here go beyond it; the first is `triple`."
    passing("quadruple")
    assert place.next_step(more).startswith("Next lesson: Multiply")
    assert place.next_step(multiply, "double").startswith("The core of this lesson is done. Next: 三倍")
    passing("triple")
    assert place.next_step(multiply) == "Next: Predict: a size (`predict_size`)."
    passing("predict_size")
    assert place.next_step(multiply) == "All 4 exercises are done."


def test_a_card_and_commands_tell_the_core_from_more(
    course: Course, place: Position, passing: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passing("double")
    passing("triple")
    card = plain_text(standing_card(place, course.books["multiply"]), 90)
    assert "████████████████████  1 of 1 core exercise done · 1 of 2 more beyond it · 2 of 3 points\n" in card
    assert "✓ done  Twice (`double`) · 1 point\n" in card
    assert "○ new   Predict: a size (`predict_size`) · 1 point, beyond the core\n" in card
    assert "core" not in plain_text(standing_card(place, course.books["more"]), 80)
    assert ABOUT_MORE in " ".join(plain_text(help_card(course), 80).split())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(command: str) -> Result:
        return CliRunner().invoke(main, [command, "--course", str(course.folders.top)])

    assert run("progress").stdout.splitlines()[:3] == [
        "1 of 2 core exercises done · 1 of 2 more beyond it · 2 of 4 points",
        "  ████████████████████  multiply · 1 of 1 done · 1 of 2 more · 2 of 3 points",
        "  ░░░░░░░░░░░░░░░░░░░░  more · 0 of 1 done · 0 of 1 points",
    ]
    assert "\nPredict: a size (1 point, beyond the core)\n" in run("next").stdout


@pytest.mark.parametrize("name", ["multiply.py", "multiply.ipynb"])
def test_a_lesson_printed_before_its_core_was_marked_is_read_and_reset_as_before(
    course: Course, tmp_path: Path, name: str
) -> None:
    lay_workspace(tmp_path, course, scripts=True)
    path = tmp_path / name
    new = path.read_text("utf-8")
    assert "core" not in new
    found = read_answers(path, course)
    assert (set(found.places), dict(found.prints)) == (course.books["multiply"].exercise_names, {})
    path.write_text(new.replace("    ...", "    return 2 * x", 2), "utf-8")
    for exercise in ("double", "triple"):
        give_stub_back(path, course.exercise(exercise), course.books["multiply"], tmp_path)
    assert path.read_text("utf-8") == new
