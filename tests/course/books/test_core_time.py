"""Test what a lesson says of its core: which exercises go beyond it, and how long it takes."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_course import edit

from jaxguide.cli import main
from jaxguide.course.books.book import Book, load_book
from jaxguide.course.books.core_time import core_time
from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import load_course
from jaxguide.course.books.printer import notebook_text, printed_cells
from jaxguide.course.books.statement import statement, stub_cell
from jaxguide.course.exercise import AuthorError

BOOK = "exercises/tiny.py"


def book_of(tiny: Path) -> Book:
    return load_book(tiny / BOOK)


def mark_double(tiny: Path, minutes: float = 4) -> None:
    edit(tiny, BOOK, 'title="Double it"', f'core=True, minutes={minutes}, title="Double it"')


def test_a_lesson_that_marks_no_core_is_printed_as_it_was(tiny: Path) -> None:
    before = notebook_text(book_of(tiny))
    assert "core" not in before
    edit(tiny, BOOK, 'title="Double it"', 'minutes=4, title="Double it"')
    assert notebook_text(book_of(tiny)) == before


def test_what_goes_beyond_the_core_says_so_and_the_lesson_tells_how_long_its_core_takes(tiny: Path) -> None:
    mark_double(tiny)
    title, double, guess = (cell.source for cell in printed_cells(book_of(tiny)) if cell.kind == "prose")
    said = "**Core:** 1 exercise, about 5 minutes. **Beyond the core:** 1 exercise."
    assert title == f"# Tiny\n\n{said}\n\nA lesson for tests."
    assert double.startswith("### Exercise: Double it (2 points)\n")
    assert guess.startswith("### Prediction: Guess (1 point, beyond the core)\n")
    edit(tiny, BOOK, 'title="Guess"', 'core=True, title="Guess"')
    title, _double, guess = (cell.source for cell in printed_cells(book_of(tiny)) if cell.kind == "prose")
    assert "\n\n**Core:** 2 exercises, about 5 minutes.\n\n" in title
    assert guess.startswith("### Prediction: Guess (1 point)\n")


def test_parts_count_if_they_have_an_exercise_of_the_core_or_none(tiny: Path) -> None:
    mark_double(tiny, minutes=2.5)
    before, minutes = core_time(book_of(tiny))
    assert minutes == 2.5
    double = book_of(tiny).exercises[0]
    code = 7 + len(stub_cell(double).splitlines())  # lines of code, beside six words of prose
    assert before == pytest.approx((6 + len(statement(double).split()) + 8 * code) / 200)

    def after(part: str) -> float:
        """Return the words that the core gains by ten words and a line of code in a part before the prediction."""
        text = (tiny / BOOK).read_text()
        edit(
            tiny,
            BOOK,
            "# %% exercise\n@prediction",
            f"# %% [markdown]\n# {part}\n\n# %%\nX = 1\n\n# %% exercise\n@prediction",
        )
        gained = 200 * (core_time(book_of(tiny))[0] - before)
        (tiny / BOOK).write_text(text)
        return round(gained, 6)

    words = "one two three four five six seven eight nine ten"
    assert after(words) == 10 + 8
    assert after(f"### Three words\n# {words}") == 3 + 10 + 8
    assert after(f"## Beyond\n# {words}") == 0, "a part with nothing but exercises beyond the core"
    assert after(f"{words}\n# ## Beyond\n# {words}") == 10
    assert after(f"## Reading\n# {words}\n# ## Beyond") == 2 + 10, "a part without exercises"


def test_a_core_is_no_reason_to_grade_again(tiny: Path) -> None:
    before = course_digest(load_course(tiny))
    mark_double(tiny)
    edit(tiny, BOOK, 'title="Guess"', 'core=True, minutes=1, title="Guess"')
    assert course_digest(load_course(tiny)) == before


@pytest.mark.parametrize("written", ['core="yes"', "minutes=-1", 'minutes="3"'])
def test_a_core_is_marked_with_a_truth_and_minutes_with_a_number(tiny: Path, written: str) -> None:
    edit(tiny, BOOK, 'title="Double it"', f'{written}, title="Double it"')
    with pytest.raises(AuthorError, match="`core` of `double` must be True or False, and `minutes` a number, 0 or"):
        book_of(tiny)


def verified(tiny: Path, *options: str) -> tuple[int, str]:
    assert CliRunner().invoke(main, ["print", "--course", str(tiny)]).exit_code == 0
    arguments = ["verify", "--no-workers", "--jobs", "1", "--seeds", "1", "--course", str(tiny), *options]
    done = CliRunner().invoke(main, arguments)
    return done.exit_code, done.output


def test_a_core_of_more_than_an_hour_and_unknown_minutes_are_noted_or_with_strict_problems(tiny: Path) -> None:
    assert "minutes" not in verified(tiny)[1]
    mark_double(tiny, minutes=60)
    lines = (tiny / BOOK).read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if text.startswith("@prediction"))
    unknown = f"tiny.py:{line}: say how long `guess_shape` takes with `minutes=`; its lesson marks a core"
    late = "tiny.py:1: the core of `tiny` takes more than an hour: 0 minutes to read and 60 for its exercises"
    for options in ((), ("--strict",)):
        status, said = verified(tiny, *options)
        assert (status, unknown in said, late in said) == (len(options), True, True), said
    edit(tiny, BOOK, "minutes=60", "minutes=59")
    edit(tiny, BOOK, 'title="Guess"', 'minutes=1, title="Guess"')
    said = verified(tiny)[1]
    assert "minutes" not in said, said
