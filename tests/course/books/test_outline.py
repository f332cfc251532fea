"""Test that a course's outline, which is read without running its books, matches the loaded course."""

import dataclasses
import importlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from needs import ON_THE_NEWEST
from test_author_errors import BOOK, KEY, MISTAKES
from tiny_course import BOOK as BOOK_TEXT
from tiny_course import edit

from jaxguide.course import author
from jaxguide.course.books.book_text import DECORATORS
from jaxguide.course.books.library import Course, load_course, read_outline
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.exercise import AuthorError, Task
from jaxguide.student.help import solution_text

TOP = Path(__file__).parents[3]
TASK_FIELDS = [field.name for field in dataclasses.fields(Task)]


def plain(course: Outline) -> dict[str, Any]:
    """Return an outline's content, field by field."""
    return {
        topic: {
            **{field.name: getattr(lesson, field.name) for field in dataclasses.fields(Lesson)},
            "exercises": [{name: getattr(task, name) for name in TASK_FIELDS} for task in lesson.exercises],
            "names": lesson.exercise_names,
        }
        for topic, lesson in course.books.items()
    }


@pytest.fixture(scope="module")
def loaded() -> Course:
    """Return the course that comes with the package, with its keys."""
    return load_course()


@ON_THE_NEWEST
def test_the_outline_of_the_course_is_what_the_loaded_course_says(loaded: Course) -> None:
    assert plain(read_outline()) == plain(loaded)


@ON_THE_NEWEST
def test_the_solutions_are_those_of_the_loaded_key(loaded: Course) -> None:
    outline = read_outline()
    # One exercise of each lesson, since each call parses the lesson's key.
    for lesson in loaded.books.values():
        exercise = max(lesson.exercises, key=lambda one: len(one.key.alternatives) if one.key else -1)
        assert exercise.key is not None
        name = exercise.name
        right = [exercise.key.answer, *exercise.key.alternatives]
        said = solution_text(outline.exercise(name), outline)
        assert said.split("\n\n", 1)[1] == "\n\nAnother right answer:\n\n".join(one.source.strip() for one in right)


def write_tiny(folder: Path) -> None:
    (folder / "exercises").mkdir(parents=True)
    (folder / "exercises" / "tiny.py").write_text(BOOK_TEXT)


def write_two_lessons(folder: Path) -> None:
    importlib.import_module("two_lessons").write_course(folder)


def write_small_course(folder: Path) -> None:
    folder.mkdir()
    importlib.import_module("small_course").write_course(folder)


def write_private_course(folder: Path) -> None:
    shutil.copytree(TOP / "examples" / "private_course", folder)


def write_assignment(folder: Path) -> None:
    shutil.copytree(TOP / "benchmarks" / "grading" / "course", folder)


@pytest.mark.parametrize(
    "write", [write_tiny, write_two_lessons, write_small_course, write_private_course, write_assignment]
)
def test_the_outline_of_a_small_course_is_what_the_loaded_course_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    for name in ("student", "grading"):
        monkeypatch.syspath_prepend(str(TOP / "tests" / name))
    folder = tmp_path / "a course"
    write(folder)
    assert plain(read_outline(folder)) == plain(load_course(folder, keys=False))


@pytest.mark.parametrize(
    "mistake",
    [
        *(
            "two decorated functions in one cell",
            "a class",
            "free text",
            "a reserved name",
            "text before the first cell",
        ),
        *(
            "an unknown kind of cell",
            "points below 0",
            "points in words",
            "too many points kept",
            "hints that are no list",
        ),
        *("a computed hint", "an unknown argument of an exercise", "an exercise without a title"),
    ],
)
def test_an_authors_mistake_is_told_by_the_outline_too(tiny: Path, mistake: str) -> None:
    file, old, new, _words, _at = MISTAKES[mistake]
    edit(tiny, file, old, new)
    assert _told(lambda: read_outline(tiny)) == _told(lambda: load_course(tiny, keys=False)) != ""


@pytest.mark.parametrize("mistake", ["a syntax error", "a duplicate check", "a name error in a check cell"])
def test_a_mistake_in_code_keeps_no_one_from_reading_the_outline(tiny: Path, mistake: str) -> None:
    expected = list(read_outline(tiny).exercises)
    edit(tiny, *MISTAKES[mistake][:3])
    assert list(read_outline(tiny).exercises) == expected


def test_an_exercise_keeps_its_other_decorators(tiny: Path) -> None:
    edit(tiny, BOOK, "def double(x):", "@jax.jit\ndef double(x):")
    assert plain(read_outline(tiny)) == plain(load_course(tiny, keys=False))
    assert read_outline(tiny).exercise("double").starter_source.startswith("@jax.jit\ndef double(x):")


@pytest.mark.parametrize("mistake", ["a key without a book entry", "an exercise without a key"])
@pytest.mark.parametrize("name", ["double", "guess_shape"])
def test_an_authors_mistake_in_a_key_is_the_solution(tiny: Path, mistake: str, name: str) -> None:
    file, old, new, _words, _at = MISTAKES[mistake]
    edit(tiny, file, old, new)
    outline = read_outline(tiny)
    assert solution_text(outline.exercise(name), outline) == _told(lambda: load_course(tiny)) != ""


def test_an_answer_in_an_untitled_cell_of_a_key_is_told(tiny: Path) -> None:
    edit(tiny, KEY, "# %% guess_shape", "# %%")
    outline = read_outline(tiny)
    assert solution_text(outline.exercise("double"), outline) == _told(lambda: load_course(tiny))


def _told(read: Callable[[], object]) -> str:
    try:
        read()
    except AuthorError as error:
        return str(error)
    return ""


def test_two_books_with_one_exercise_are_told(tiny: Path) -> None:
    (tiny / "exercises" / "other.py").write_text((tiny / BOOK).read_text())
    assert "unique across the course" in _told(lambda: read_outline(tiny))


def test_every_mark_of_authors_is_known_without_running_it() -> None:
    values = {"alternative_value", "wrong_value", "equivalent", "given", "StudentError"}
    assert {name for name in author.__all__ if not name.startswith("expect_")} - values == DECORATORS
