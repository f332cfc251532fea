"""Test the cells that show documented examples: how they print, where they are found, and what is wrong with them."""

import json
from pathlib import Path

import pytest
from documented_book import CODE, SHOWN, show

from jaxguide.course import ledger
from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.documented_index import example_places
from jaxguide.course.books.examples import run_books
from jaxguide.course.books.handout import INDEX_NAME, for_students
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.books.printer import notebook_text, printed_cells, script_text
from jaxguide.course.exercise import AuthorError

LINK = "https://docs.jax.dev/en/latest/automatic-vectorization.html"
SAME = f"""<details>
<summary>The document's example, today: Automatic vectorization (S2-01)</summary>

JAX prints what it printed then.

> ```python
> square(double(FACTOR))
> ```

[Automatic vectorization]({LINK})
shows:

> ```text
> 16.0
> ```

Today's JAX prints the same.

</details>"""
STATEMENT = """# %% documented S2-04
# A loop takes longer,
# as it did.

# Three calls:
for _ in range(3):

    print(1)

# documented
# A loop is not efficient.
# A vectorized function is.

# today
# 1
#
# 1
# 1
"""
DIFFERENT = f"""<details>
<summary>The document's example, today: Automatic vectorization (S2-04)</summary>

A loop takes longer,
as it did.

> ```python
> # Three calls:
> for _ in range(3):
>
>     print(1)
> ```

[Automatic vectorization]({LINK})
says:

> A loop is not efficient.
> A vectorized function is.

Today:

> ```text
> 1
>
> 1
> 1
> ```

</details>"""


@pytest.mark.parametrize(("cell", "printed"), [(SHOWN, SAME), (STATEMENT, DIFFERENT)])
def test_it_is_printed_folded_below_the_exercise(tiny: Path, cell: str, printed: str) -> None:
    show(tiny, cell)
    cells = printed_cells(load_course(tiny).books["tiny"])
    (number,) = (number for number, one in enumerate(cells) if one.source == printed)
    assert cells[number].kind == "prose"
    assert "hint(double)" in cells[number - 1].source


def test_it_neither_runs_with_the_book_nor_counts_for_marks(tiny: Path) -> None:
    book = show(tiny)
    before = load_course(tiny)
    digest = course_digest(before)
    book.write_text(book.read_text().replace(CODE, "# It is not so.\nsquare = 1 / 0"))
    after = load_course(tiny)
    assert run_books(after) == []
    assert course_digest(after) == digest
    assert after.books["tiny"].given == before.books["tiny"].given


MISTAKES = {
    "an unknown example": (
        SHOWN.replace("S2-01", "S9-99"),
        "S9-99 is not a documented example",
    ),
    "one that the exercise does not reproduce": (SHOWN.replace("S2-01", "S2-01 S2-02"), "S2-02 is not a documented"),
    "no example": (SHOWN.replace(" S2-01", ""), "use `# %%`, `# %% [markdown]`"),
    "no output": (SHOWN.partition("# documented")[0], "code, then `# documented` and that output as comment lines"),
    "no comment": (SHOWN.replace("# JAX prints what it printed then.", ""), "a documented example is comment lines"),
    "code below": (SHOWN + "\nx = 1\n", "a documented example is comment lines"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_at_its_marker(tiny: Path, mistake: str) -> None:
    cell, words = MISTAKES[mistake]
    book = show(tiny, cell)
    with pytest.raises(AuthorError, match=words.replace("*", r"\*").replace("[", r"\[")) as raised:
        load_course(tiny)
    assert book.read_text().splitlines()[raised.value.line - 1].startswith("# %% documented")


def test_it_belongs_below_the_exercise_that_reproduces_it(tiny: Path) -> None:
    book = show(tiny)
    book.write_text(book.read_text().replace(SHOWN, "") + f"\n{SHOWN}")
    with pytest.raises(AuthorError, match="S2-01 is not a documented example that the exercise above reproduces"):
        load_course(tiny)


def test_a_place_is_the_cell_that_shows_an_example(tiny: Path) -> None:
    show(tiny)
    course = load_course(tiny)
    book, places = course.books["tiny"], example_places(course)
    assert list(places) == ["S2-01"]
    for place in places.values():
        cell = json.loads(notebook_text(book))["cells"][place.cell - 1]
        assert (place.lesson, place.exercise, place.cell_id) == ("tiny", "double", cell["id"])
        words = "<summary>The document's example"
        assert any(line.startswith(words) for line in cell["source"])
        marker, *below = script_text(book).splitlines()[place.line - 1 :]
        assert marker == "# %% [markdown]"
        assert any(line.startswith(f"# {words}") for line in below[:2])


def test_the_index_lists_examples_by_page(tiny: Path) -> None:
    assert INDEX_NAME not in for_students(load_course(tiny))
    show(tiny)
    course = load_course(tiny)
    index, place = for_students(course)[INDEX_NAME].decode(), example_places(course)["S2-01"]
    assert f"\n## [Automatic vectorization]({LINK})\n" in index
    link = f"[tiny](tiny.ipynb) | `double` | [{place.cell}](tiny.ipynb#cell-id={place.cell_id})"
    assert f"\n| S2-01 | {ledger.entries()['S2-01']['says']} | {link} |\n" in index


def test_the_index_of_the_course_is_current_and_has_all(whole_course: Course) -> None:
    index = for_students(whole_course)[INDEX_NAME]
    assert index == (whole_course.folders.notebooks / INDEX_NAME).read_bytes(), "run `jaxguide print`"
    rows = [line.split(" | ") for line in index.decode().splitlines() if line.startswith("| S")]
    assert [row[0].removeprefix("| ") for row in rows] == sorted(ledger.entries())


def test_each_page_begins_at_one_of_the_documented_examples() -> None:
    assert ledger.PAGES.keys() <= ledger.entries().keys()
    assert {example: ledger.page_of(example)[0] for example in ("S0-22", "S0-23", "S4-42")} == {
        "S0-22": "Introduction to debugging",
        "S0-23": "Pseudorandom numbers",
        "S4-42": "External callbacks",
    }
