"""Test that wrapping Markdown changes its lines alone."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from jaxguide.base.markdown import wrapped
from jaxguide.course.books.percent import BOOK_KINDS, parse_cells

TOP = Path(__file__).parents[2]
TEXTS = [
    *(path.read_text() for path in (TOP / "README.md", *(TOP / "docs").glob("*.md"))),
    *(
        cell.prose
        for path in (TOP / "exercises").glob("*.py")
        for cell in parse_cells(path, BOOK_KINDS)
        if cell.kind == "prose"
    ),
    "A break that is meant  \nand another\\\none, with more words than fit on a line of the width of this text.",
    "Words that must not begin a line: 1. one 2) two - three * four + five # six > seven = eight == nine --- ten.",
    "name | what it says\n--- | ---\na row of a table without lines at its sides | another, which is long, too",
    "- a list of items, of which this is long\n\n      indented code, which is longer than the lines\n\n-\n- end",
    "1. ```\n   code in a list that is too long for a line of text\n   ```\n2. more words than fit here, again",
    "> a quote that is longer than the line\n\n<b>\nHTML that is longer than the line\n</b>\n\ntext\n===\n",
]


@pytest.mark.parametrize("width", [86, 24])
def test_what_is_wrapped_reads_the_same(width: int) -> None:
    markdown = MarkdownIt("commonmark").enable("table")
    for text in TEXTS:
        new = wrapped(text, width)
        assert " ".join(markdown.render(new).split()) == " ".join(markdown.render(text).split())
        assert wrapped(new, width) == new


def test_lines_of_text_fit_and_code_and_links_stay_whole() -> None:
    text = "Words and `code with blanks in it`, and [a link](https://docs.jax.dev/en/latest/index.html)."
    assert wrapped(text, 40).split("\n") == [
        "Words and `code with blanks in it`, and",
        "[a",
        "link](https://docs.jax.dev/en/latest/index.html).",
    ]


def test_only_what_is_too_long_is_wrapped() -> None:
    text = "Short\nlines\nstay.\n\nThis one is too long for its width.\n\n- an item\n- another"
    assert wrapped(text, 20) == text.replace("This one is too long", "This one is too long\n").replace(
        "\n for", "\nfor"
    )


def test_items_are_wrapped_below_their_text() -> None:
    lines = wrapped("- one two three\n  four five six\n  1. seven eight nine ten\n\n  eleven twelve thirteen", 16)
    assert lines.split("\n") == [
        "- one two three",
        "  four five six",
        "  1. seven eight",
        "     nine ten",
        "",
        "  eleven twelve",
        "  thirteen",
    ]
    assert not re.search(r" $", lines, re.MULTILINE)
