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
from jaxguide.course.books.key_text import right_answers
from jaxguide.course.books.library import Course, load_course, read_outline
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.exercise import AuthorError, Task

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
        read = right_answers(outline.folders.solutions / f"{lesson.topic}.py", name)
        assert [one.source for one in read] == [one.source for one in right]


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


def test_a_key_without_the_exercise_is_told_and_other_cells_do_not_matter(tiny: Path) -> None:
    edit(tiny, KEY, "# %% guess_shape", "# %%")
    key = tiny / "solutions" / "tiny.py"
    assert right_answers(key, "double")[0].source.startswith("def double")
    with pytest.raises(AuthorError, match="the key has no cell for `guess_shape`"):
        right_answers(key, "guess_shape")


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
