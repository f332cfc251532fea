"""Test that lessons printed by earlier versions, with all of a task in the stub, are read as those printed now."""

from pathlib import Path

import pytest
from earlier_prints import earlier_cell, print_earlier
from two_lessons import answer, write_course

from jaxguide.course.books.book import Book
from jaxguide.course.books.handout import print_files
from jaxguide.course.books.library import Course, load_course, students_course
from jaxguide.course.books.printer import printed_files
from jaxguide.course.progress import Progress
from jaxguide.grading.intake.reading import CourseText, read_content
from jaxguide.student.answers_in_files import read_answers
from jaxguide.student.check_file import check_file
from jaxguide.student.reset import give_stub_back


@pytest.fixture(scope="module", params=["", "mine"])
def lessons(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return a course without an identity of its own, and a private one."""
    folder = tmp_path_factory.mktemp("course")
    write_course(folder)
    with (folder / "course.toml").open("a") as settings:
        settings.write(f'identity = "{request.param}"\n' if request.param else "")
    return load_course(folder, keys=False)


def test_every_stub_is_one_and_nothing_of_a_lesson_runs(tmp_path: Path) -> None:
    course = students_course()
    text = CourseText.of(course)
    for book in course.books.values():
        for path in print_earlier(book, tmp_path):
            read = read_content(path.name, path.read_bytes(), text)
            assert [cell.label for cell in read.cells if cell.runs] == []
            found = read_answers(path, course)
            assert (set(found.places), dict(found.prints)) == (book.exercise_names, {})


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_a_reset_gives_back_all_that_the_stub_said(lessons: Course, tmp_path: Path, suffix: str) -> None:
    book = lessons.books["multiply"]
    (path,) = (path for path in print_earlier(book, tmp_path) if path.suffix == suffix)
    new = path.read_text("utf-8")
    path.write_text(new.replace("    ...", "    return 3 * x", 1), "utf-8")
    give_stub_back(path, lessons.exercise("double"), book, tmp_path)
    assert path.read_text("utf-8") == new
    assert "Args:" in earlier_cell(lessons.exercise("double"))


def print_now(book: Book, folder: Path) -> None:
    print_files(printed_files(book), folder)


def test_an_answer_is_checked_and_is_the_same_try_in_both(lessons: Course, tmp_path: Path) -> None:
    book, progress = lessons.books["multiply"], Progress(tmp_path, lessons.identity)
    for write in (print_earlier, print_now):
        write(book, tmp_path)
        path = tmp_path / "multiply.py"
        answer(path, "double", "return 3 * x")
        results = {one.name: one.verdict.value for one in check_file(path, lessons, progress).results}
        assert results == {"double": "failed", "triple": "not attempted", "predict_size": "not attempted"}
        assert progress.of("double").tries == 1


def test_a_hint_that_is_uncommented_is_no_other_answer(lessons: Course, tmp_path: Path) -> None:
    print_now(lessons.books["multiply"], tmp_path)
    path = tmp_path / "multiply.py"
    answer(path, "double", "return 2 * x")
    before = dict(read_answers(path, lessons).prints)
    path.write_text(path.read_text("utf-8").replace("# hint(double)", "hint(double)"), "utf-8")
    assert dict(read_answers(path, lessons).prints) == before
