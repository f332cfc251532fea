"""Test that files are read in limited processes, and that their replies are not believed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from needs import ON_THE_NEWEST
from small_course import ANSWERS

from jaxguide.base.plain import plain_of
from jaxguide.course.books.library import Course
from jaxguide.course.verdict import AnswerGone
from jaxguide.grading.intake.reading import CourseText, read_content
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.reader import Readers, found_in
from jaxguide.grading.workers.worker_process import Surroundings

GOOD = "\n\n".join(["%matplotlib inline", ANSWERS["double"], "def tripel(x):\n    return 3 * x", "x = ("])


@pytest.fixture
def text(course: Course) -> CourseText:
    return CourseText.of(course)


@pytest.fixture
def readers(text: CourseText) -> Iterator[Readers]:
    readers = Readers(lambda: text, Surroundings())
    yield readers
    readers.close()


def notebook(*sources: str, **more: Any) -> bytes:
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}).encode()


def test_a_process_reads_what_this_one_reads(readers: Readers, text: CourseText) -> None:
    path = Path("ada.py")
    found = readers.read(path, GOOD.encode())
    assert found == read_content(path.name, GOOD.encode(), text)
    assert (found.lessons, found.is_python) == (["small_numbers"], False)
    why = "Your file has no function `triple`, but a similar `tripel`. Give it the exercise's name."
    assert found.missing == {"triple": why}
    assert [cell.defines for cell in found.cells] == [[], ["double"], [], []]


@ON_THE_NEWEST
def test_a_file_that_takes_too_much_is_refused_and_the_next_is_read(readers: Readers) -> None:
    huge = notebook(ANSWERS["double"], more="x" * 40 * 2**20)
    assert readers.read(Path("huge.ipynb"), huge).lessons == ["small_numbers"]
    brackets = notebook(ANSWERS["double"], more=[[[[]]]] * 5_000_000)
    with pytest.raises(UnreadableSubmission, match="takes more than 300 MB of memory to read; clear its outputs"):
        readers.read(Path("brackets.ipynb"), brackets)
    assert readers.read(Path("next.py"), GOOD.encode()).lessons == ["small_numbers"]


def test_a_process_that_was_killed_is_replaced(readers: Readers) -> None:
    path, content = Path("ada.py"), GOOD.encode()
    found = readers.read(path, content)
    (worker,) = readers._idle
    processes = worker.tree.processes()
    for process in processes:
        process.kill()
    psutil.wait_procs(processes)
    assert readers.read(path, content) == found
    assert worker not in readers._idle


@ON_THE_NEWEST
def test_a_file_that_takes_too_long_is_refused_and_the_next_is_read(readers: Readers) -> None:
    # Each line that is no Python is removed, and the cell parsed again.
    slow = notebook(*["%a\n" * 300 + "x = 1\n" * 25_000] * 6)
    with pytest.raises(UnreadableSubmission, match="takes more than 6 seconds of computing to read"):
        readers.read(Path("slow.ipynb"), slow)
    assert readers.read(Path("next.py"), GOOD.encode()).lessons == ["small_numbers"]


def test_code_is_counted_without_the_lines_above_it(readers: Readers) -> None:
    assert readers.read(Path("ada.py"), ("x = 1\n\n" * 1_500 + ANSWERS["double"]).encode()).lessons == ["small_numbers"]


def forged(text: CourseText, **changes: Any) -> dict[str, Any]:
    plain = plain_of(read_content("ada.py", GOOD.encode(), text))
    for name, value in changes.items():
        if name in plain:
            plain[name] = value
        else:
            plain["cells"][1][name] = value
    return {"submission": plain}


@pytest.mark.parametrize(
    "changes",
    [
        {"lessons": ["other"]},
        {"lessons": [["small_numbers"]]},
        {"topics": "small_numbers"},
        {"missing": {"double": "x" * 2_000}},
        {"missing": {"other": "x"}},
        {"no_exercise": "x" * 2_000},
        {"runs": {"double": [2**48]}},
        {"runs": {"double": [1.0]}},
        {"runs": {"double": list(range(129))}},
        {"runs": {"other": [1]}},
        {"cells": [None]},
        {"number": 3},
        {"number": True},
        {"label": "x" * 2_000},
        {"source": b"x"},
        {"magics": ["x" * 2_000]},
        {"error": {"type_name": "SyntaxError", "message": 1j, "line": None, "source": ""}},
        {"error": {"type_name": "SyntaxError"}},
        {"defines": ["other"]},
        {"starters": ["other"]},
        {"reads": ["other"]},
        {"late_settings": ["x" * 2_000]},
        {"rejected": None},
        {"is_empty": 0},
        {"more": 1},
    ],
)
def test_a_reply_that_is_not_about_the_course_is_broken(text: CourseText, changes: dict[str, Any]) -> None:
    found_in(forged(text), text)
    with pytest.raises(AnswerGone):
        found_in(forged(text, **changes), text)


def test_a_reply_may_say_why_a_file_cannot_be_read(text: CourseText) -> None:
    with pytest.raises(UnreadableSubmission, match=r"^no{998}…$"):
        found_in({"problem": "\x07n" + "o" * 2_000}, text)


@pytest.mark.parametrize("reply", [{}, {"submission": None}, {"submission": []}, {"problem": 1}, {"problem": None}])
def test_a_reply_of_another_form_is_broken(text: CourseText, reply: dict[str, Any]) -> None:
    with pytest.raises(AnswerGone):
        found_in(reply, text)
