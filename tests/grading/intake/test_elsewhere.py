"""Test that a row says why an answer is not found, which course a notebook was for, and what a marimo file is."""

import json
from collections.abc import Sequence

import pytest

from jaxguide.grading.intake.reading import CourseText, ReadSubmission, Stub, read_content
from jaxguide.grading.intake.submission import UnreadableSubmission

STARTER = "def unit_rows(x):\n    ...\n"
COURSE = CourseText({"rows": ["unit_rows"]}, (Stub("unit_rows", STARTER, STARTER),), ("given",), identity="rows-1")
ANSWER = "def unit_rows(x):\n    return x / abs(x)\n"
START = "from jaxguide.lesson import start\nstart('rows', course='rows-1')\n"


def read(*cells: str | tuple[str, str], start: str = START) -> ReadSubmission:
    pairs: Sequence[tuple[str, str]] = [("code", one) if isinstance(one, str) else one for one in (start, *cells)]
    plain = {"cells": [{"cell_type": kind, "source": source} for kind, source in pairs]}
    return read_content("hw.ipynb", json.dumps(plain).encode(), COURSE)


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (("raw", ANSWER), "in a raw cell"),
        (("raw", "unit_rows = given\n"), "in a raw cell"),
        (("markdown", "My answer:\n```python\n" + ANSWER + "```"), "in a Markdown cell"),
        ("%%bash\n" + ANSWER, "below `%%bash` in code cell 2"),
        ("%%time\n%%writefile hw.py\n" + ANSWER, "below `%%writefile` in code cell 2"),
        ("class Rows:\n    @staticmethod\n    def unit_rows(x):\n        return x\n", "inside `Rows` in code cell 2"),
        ("def main():\n    def unit_rows(x):\n        return x\n", "inside `main` in code cell 2"),
        ("# def unit_rows(x):\n#     return x\n", "in a comment in code cell 2"),
    ],
)
@pytest.mark.parametrize("start", [START, "import math"])
def test_the_place_of_an_answer_that_does_not_run_is_named(cell: str | tuple[str, str], why: str, start: str) -> None:
    found = read(cell, start=start)
    assert bool(found.lessons) is (start == START)
    assert why in (found.missing["unit_rows"] if found.lessons else found.no_exercise)


def test_a_function_with_the_same_parameters_is_named() -> None:
    found = read("def normalise(x): return x\ndef other(x, y): ...\ndef given(x): ...")
    assert "but `normalise` has its parameters" in found.missing["unit_rows"]
    assert "Was its cell deleted" in read("def normalise(y): return x").missing["unit_rows"]
    assert "It defines `normalise`" in read("def normalise(x): return x", start="").no_exercise


def test_a_file_with_the_answer_needs_no_reason() -> None:
    found = read(ANSWER, ("raw", ANSWER), "class A:\n    def unit_rows(x): ...\ndef normalise(x): return x")
    assert (found.missing, found.no_exercise, found.other_course) == ({}, "", "")


def test_a_notebook_of_another_course_is_noted() -> None:
    assert read(ANSWER, start="start('rows', course='other-physics')").other_course == "other-physics"
    assert read(ANSWER, start="start('rows', 'other')\nstart('rows', course='rows-1')").other_course == ""
    assert read(ANSWER, start="start('rows')").other_course == ""


def test_a_marimo_file_gets_a_sentence() -> None:
    head = "import marimo\n\n__generated_with = '0.9'\napp = marimo.App()\n\n\n"
    text = head + "@app.cell\ndef _():\n    def unit_rows(x): ...\n    return unit_rows,\n"
    with pytest.raises(UnreadableSubmission, match=r"`marimo export ipynb hw\.py -o answers\.ipynb`"):
        read_content("hw.py", text.encode(), COURSE)
    assert read_content("hw.py", b"import marimo\n" + ANSWER.encode(), COURSE).lessons == ["rows"]
