"""Test what a printed lesson shows of an exercise: its statement in Markdown, and the stub below."""

import ast
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tiny_course import BOOK, edit

from jaxguide.course.books.library import read_outline
from jaxguide.course.books.printer import help_cell, notebook_text, printable_source, printed_cells
from jaxguide.course.books.statement import first_sentence, statement, stub_cell
from jaxguide.course.exercise import Task

DOCSTRING = '''\
"""Return twice `x`, whatever it is. It works under `jax.jit`,
    too.

    Write it without:
    - a loop,
    - a list.

    Args:
        x, more: float32[n], any n, or key<fry>[]; the numbers are so many that this entry of the list has
            two lines.
        *others: ints below 2**31.

    Returns:
        A tuple `(x, y)`.

    Example:
        >>> double(2)
        4

    The lines of code

        y = x
        z = y

    stay.
    """'''
STATEMENT = """\
### Exercise: Double it (2 points)

Return twice `x`, whatever it is. It works under `jax.jit`, too.

Write it without:

- a loop,
- a list.

**Args:**

- `x`, `more`: float32[n], any n, or `key<fry>[]`; the numbers are so many that this
  entry of the list has two lines.
- `*others`: ints below `2**31`.

**Returns:** A tuple `(x, y)`.

**Example:**

```python
>>> double(2)
4
```

The lines of code

```python
y = x
z = y
```

stay."""


def task(tiny: Path, docstring: str) -> Task:
    edit(tiny, "exercises/tiny.py", '"""Return twice x: float32[n] -> float32[n]."""', docstring)
    return read_outline(tiny).exercise("double")


def test_a_docstring_becomes_markdown(tiny: Path) -> None:
    double = task(tiny, DOCSTRING)
    assert statement(double) == STATEMENT
    assert (
        printable_source(double)
        == 'def double(x):\n    """Return twice `x`, whatever it is."""\n    ...\n\n\ncheck(double)'
    )


def test_markdown_takes_nothing_in_a_docstring_for_markup(tiny: Path) -> None:
    said = "float32[n] * 2**31 and 2**32 of key<fry>[] (f(key<fry>[n])), `a<b>`, __name__ and *args, p * q."
    double = task(tiny, f'"""{said}"""')
    shown = MarkdownIt("commonmark").render(statement(double).partition("\n\n")[2])
    assert set(re.findall(r"<(\w+)", shown)) == {"p", "code"}
    assert (
        re.sub(r"</?(p|code)>|\n$", "", shown).replace("&lt;", "<").replace("&gt;", ">").split()
        == said.replace("`", "").split()
    )


def test_no_line_break_divides_code_or_makes_a_list(tiny: Path) -> None:
    words = "word " * 14
    double = task(tiny, f'"""Say {words}`some codings`:\n{words}- then."""')
    assert statement(double).partition("\n\n")[2].split("\n") == [
        f"Say {words}".strip(),
        f"`some codings`: {words}".removesuffix(" word "),
        "word - then.",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("What is `a. B`? Say it.", "What is `a. B`?"),
        ("As e.g. 1.5 or\nso says: this", "As e.g. 1.5 or so says: this"),
        ("把每个数乘以三。返回数组。", "把每个数乘以三。"),
        ("One\n\nTwo.", "One"),
        (">>> f(1)\n2", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_ends_where_a_reader_sees_it_end(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ("docstring", "printed"),
    [
        ("'''\n    One. Two.\n    '''", '"""One."""'),
        (f'"""{"word " * 17}end."""', f'"""{"word " * 15}word\n    word end.\n    """'),
        ('"""Say `a b`: "yes". """', '"""Say `a b`: "yes"."""'),
        ('"""Say "yes"\n    """', '"""Say "yes"\n    """'),
        ('r"""A \\d. B."""', 'r"""A \\d."""'),
        ('"""One. Two."""; y = 1', '"""One. Two."""; y = 1'),
        ('"""One. Two."""  # three', '"""One. Two."""  # three'),
        ("x = 1", "x = 1"),
    ],
)
def test_the_stub_keeps_one_sentence_and_all_code(tiny: Path, docstring: str, printed: str) -> None:
    double = task(tiny, docstring)
    assert stub_cell(double) == f"def double(x):\n    {printed}\n    ..."
    without = [ast.dump(node) for node in ast.parse(double.starter_source).body[0].body[1:]]  # type: ignore[attr-defined]
    assert [ast.dump(node) for node in ast.parse(stub_cell(double)).body[0].body[1:]] == without  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("title", "shown"), [("Double it", "Exercise: Double it"), ("Repair: the leak", "Repair: the leak")]
)
def test_no_title_says_twice_what_it_is(tiny: Path, title: str, shown: str) -> None:
    edit(tiny, "exercises/tiny.py", 'title="Double it"', f'title="{title}"')
    assert read_outline(tiny).exercise("double").full_title == shown
    assert read_outline(tiny).exercise("guess_shape").full_title == "Prediction: Guess"


def test_a_lesson_prints_statement_stub_and_help_for_each_exercise(tiny: Path) -> None:
    from jaxguide.course.books.book import load_book

    book = load_book(tiny / "exercises" / "tiny.py")
    kinds = [cell.kind for cell in printed_cells(book)]
    assert kinds == ["prose", "setup", "setup", "example", *("prose", "exercise", "help") * 2]
    assert "# Tiny" in BOOK
    for cell in printed_cells(book):
        if cell.kind == "help":  # so that Run All opens nothing
            assert ast.parse(cell.source).body == []
    assert '"# hint(double)\\n",\n    "# solution(double)"' in notebook_text(book)
    assert help_cell(book.exercises[0], "a course that keeps its solutions").endswith("\n# hint(double)")
