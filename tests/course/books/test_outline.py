"""Test that a course's outline matches the loaded course, without running books that are plain enough to parse."""

import dataclasses
import importlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_author_errors import BOOK, KEY, MISTAKES
from tiny_course import BOOK as BOOK_TEXT
from tiny_course import edit

from jaxguide.course import author
from jaxguide.course.books import book, parse
from jaxguide.course.books.library import Course, load_course, read_outline
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.books.parse import lesson_as_written
from jaxguide.course.exercise import AuthorError, Task
from jaxguide.student.help import solution_text

TOP = Path(__file__).parents[3]
TASK_FIELDS = [field.name for field in dataclasses.fields(Task)]
COMPUTED = '"What is twice x?"', '" ".join(["What is", "twice x?"])'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache, and return its folder for outlines."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "jaxguide" / "outlines"


@pytest.fixture
def no_book_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise AssertionError(f"{path} was run")

    monkeypatch.setattr(book, "load_book", refuse)


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


@pytest.mark.long
def test_the_outline_of_the_course_is_what_the_loaded_course_says(loaded: Course, no_book_runs: None) -> None:
    assert plain(read_outline()) == plain(loaded)
    assert plain(read_outline()) == plain(loaded), "read from the cache"


@pytest.mark.long
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
    monkeypatch.setattr(parse, "lesson_as_written", unplain := _Counted(parse.lesson_as_written))
    outlines = plain(read_outline(folder)), plain(read_outline(folder))
    assert outlines == (plain(load_course(folder, keys=False)),) * 2
    assert unplain.nones == 0, "no book may be run"


class _Counted:
    """Wrap a function to count how often it returns None."""

    def __init__(self, function: Callable[..., Any]):
        self.function, self.nones = function, 0

    def __call__(self, *args: Any) -> Any:
        found = self.function(*args)
        self.nones += found is None
        return found


@pytest.mark.parametrize("mistake", [name for name, (file, *_) in MISTAKES.items() if file == BOOK])
def test_an_authors_mistake_is_told_by_the_outline_too(tiny: Path, mistake: str) -> None:
    file, old, new, _words, _at = MISTAKES[mistake]
    edit(tiny, file, old, new)
    assert _told(lambda: read_outline(tiny)) == _told(lambda: load_course(tiny, keys=False))


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
    assert "unique across the course" in _told(lambda: read_outline(tiny)), "read from the cache"


UNPLAIN = {
    "a hint": COMPUTED,
    "a title": ('title="Double it"', 'title=f"{1 + 1} times it"'),
    "options": ('title="Guess", points=1,', '**{"title": "Guess"}, points=1,'),
    "another decorator": ("def double(x):", "@jax.jit\ndef double(x):"),
    "the exercise of a check": ("@visible(double, idea", "@visible(*[double], idea"),
    "the stage of a check": ('stage="jit"', 'stage="j" + "it"'),
    "a mark": ("FACTOR = 2.0", "FACTOR = 2.0\n\nif True:\n    reveal = reveal"),
}


@pytest.mark.parametrize("what", UNPLAIN)
def test_a_book_in_which_something_is_computed_is_run_once(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    edit(tiny, BOOK, *UNPLAIN[what])
    expected = plain(load_course(tiny, keys=False))
    assert lesson_as_written(tiny / BOOK) is None
    assert plain(read_outline(tiny)) == expected
    monkeypatch.setattr(book, "load_book", None)
    assert plain(read_outline(tiny)) == expected


@pytest.mark.parametrize("what", UNPLAIN)
def test_a_course_with_files_is_found_by_a_relative_path(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    edit(tiny, BOOK, *UNPLAIN[what])
    edit(tiny, BOOK, "import numpy as np\n", 'import numpy as np\n\nNUMBERS = np.loadtxt("table.txt")\n')
    edit(tiny, BOOK, "return x * x", "return x * NUMBERS")
    edit(tiny, BOOK, "FACTOR * x)", "FACTOR * x + 0 * square(1.0))")
    (tiny / "exercises" / "table.txt").write_text("2.5")
    (tiny / "course.toml").write_text('files = ["table.txt"]')
    expected = plain(load_course(tiny))
    monkeypatch.chdir(tiny.parent)
    here = Path(tiny.name)
    assert plain(read_outline(here)) == plain(load_course(here)) == expected
    monkeypatch.setattr(book, "load_book", None)
    assert plain(read_outline(here)) == expected, "read from the cache"


def test_an_outline_is_read_anew_where_a_book_has_changed(tiny: Path, cache: Path) -> None:
    assert read_outline(tiny).exercise("double").points == 2
    edit(tiny, BOOK, "points=2,", "points=3,")
    assert read_outline(tiny).exercise("double").points == 3
    assert len(list(cache.iterdir())) == 2


def _task_of(kept: Any) -> dict[str, Any]:
    (lesson,) = kept["lessons"]
    task: dict[str, Any] = lesson["exercises"][0]
    return task


ODD: dict[str, Callable[[Any], object]] = {
    "no lessons": lambda kept: kept["lessons"].clear(),
    "another lesson": lambda kept: kept["lessons"][0].update(topic="other"),
    "no title": lambda kept: kept["lessons"][0].update(title=None),
    "exercises that are none": lambda kept: kept["lessons"][0].update(exercises={"0": 1}),
    "one field more": lambda kept: _task_of(kept).update(checks=[]),
    **{
        f"no {name}": (lambda kept, name=name: _task_of(kept).pop(name))
        for name in TASK_FIELDS
        if name not in ("lesson", "path")
    },
    **{
        f"{name} of another kind": (lambda kept, name=name: _task_of(kept).update({name: [1]}))
        for name in TASK_FIELDS
        if name not in ("lesson", "path")
    },
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_kept_is_not_used_where_it_is_odd(tiny: Path, cache: Path, odd: str) -> None:
    expected = plain(read_outline(tiny))
    (path,) = cache.iterdir()
    right = path.read_text()
    kept = json.loads(right)
    ODD[odd](kept)
    path.write_text(json.dumps(kept))
    assert plain(read_outline(tiny)) == expected
    assert path.read_text() == right, "it must be written again"


@pytest.mark.parametrize("content", [b"", b"[", b"\xff", b"null", b"[1]", b'{"circumstances": ""}', b"[" * 100_000])
def test_what_is_kept_is_not_used_where_it_is_damaged(tiny: Path, cache: Path, content: bytes) -> None:
    expected = plain(read_outline(tiny))
    (path,) = cache.iterdir()
    path.write_bytes(content)
    assert plain(read_outline(tiny)) == expected


def test_what_is_kept_is_used(tiny: Path, cache: Path) -> None:
    read_outline(tiny)
    (path,) = cache.iterdir()
    path.write_text(path.read_text().replace("Double it", "Kept"))
    assert read_outline(tiny).exercise("double").title == "Kept"


def test_no_key_and_no_check_is_kept(tiny: Path, cache: Path) -> None:
    outline = read_outline(tiny)
    solution_text(outline.exercise("double"), outline)
    (path,) = cache.iterdir()
    said = path.read_text()
    assert "Double it" in said
    for secret in ("return 2 * x", "squares", "twice_the_input", "The result is twice the input."):
        assert secret not in said


def test_of_many_states_of_courses_the_newest_are_kept(tiny: Path, cache: Path) -> None:
    for points in range(3, 25):
        edit(tiny, BOOK, f"points={points - 1},", f"points={points},")
        read_outline(tiny)
    assert len(list(cache.iterdir())) == 16


def test_where_nothing_can_be_kept_an_outline_is_read_each_time(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    assert list(read_outline(tiny).exercises) == list(read_outline(tiny).exercises) == ["double", "guess_shape"]


def test_every_mark_of_authors_is_known_without_running_it() -> None:
    values = {"alternative_value", "wrong_value", "equivalent", "given", "StudentError"}
    assert {name for name in author.__all__ if not name.startswith("expect_")} - values == parse.DECORATORS
