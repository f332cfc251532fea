"""Reports say everything to the instructor, to a student what a student may see, and nothing in colour only."""

import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from jaxguide.course.library import Course
from jaxguide.grading.grade import SubmissionResult, grade
from jaxguide.grading.report import FORMAT, feedback, to_plain, write_reports
from jaxguide.grading.table import GradeTable


@pytest.fixture(scope="module")
def graded(course: Course, tmp_path_factory: pytest.TempPathFactory) -> list[SubmissionResult]:
    folder = tmp_path_factory.mktemp("class")
    (folder / "ada.py").write_text(
        "# %%\n%magic\n\n"
        "# %%\ndef double(x):\n    print('\\x1b[31mred')\n    return 2 * x if len(x) == 3 else x * 1.5\n\n"
        "# %%\ndef triple(x):\n    return 2 * x\n"
    )
    (folder / "bob.ipynb").write_text('{"cells": [')
    return list(grade([folder], course, seed=7))


def test_results_hold_every_check_with_inputs_and_values(graded: list[SubmissionResult]) -> None:
    plain = json.loads(json.dumps(to_plain(graded)))
    assert (plain["format"], plain["complete"]) == (FORMAT, False)
    ada, bob = plain["submissions"]
    assert (ada["student"], ada["seed"], ada["unreadable"]) == ("ada", 7, None)
    assert ada["tier"]
    assert "jax" in ada["versions"]
    assert any("%magic" in repair for repair in ada["repairs"])
    double = ada["exercises"][0]
    hidden = next(check for check in double["checks"] if check["hidden"])
    assert (double["verdict"], hidden["verdict"], hidden["kind"]) == ("failed", "failed", "value")
    assert hidden["call"].startswith("double(")
    assert hidden["got"]
    assert hidden["expected"]
    assert "\x1b" not in json.dumps(plain, ensure_ascii=False)
    assert "cut off" in bob["unreadable"]
    assert bob["exercises"] == []


def test_feedback_tells_of_a_hidden_check_its_fact_and_idea_only(graded: list[SubmissionResult]) -> None:
    text = feedback(graded[0])
    hidden = next(check for check in graded[0].results[0].checks if check.hidden)
    assert hidden.fact in text
    assert "One factor for all." in text
    assert hidden.got not in text
    assert hidden.expected not in text
    assert hidden.call not in text
    assert "0 of 7 points" in text
    assert "%magic" in text
    assert "cut off" in feedback(graded[1])


def test_what_was_not_graded_is_no_failure(graded: list[SubmissionResult]) -> None:
    secret = "a check raised TypeError: [0.123]"
    odd = dataclasses.replace(graded[0], not_graded={"double": secret})
    assert not odd.is_complete
    assert secret not in feedback(odd)
    assert "not your fault" in feedback(odd)
    assert to_plain([odd])["complete"] is False


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_table_says_verdicts_in_words_and_keeps_the_width(graded: list[SubmissionResult], width: int) -> None:
    text = GradeTable(graded).text(width)
    words = " ".join(text.split())
    for part in ("✗ failed: double, triple", "○ not started: quadruple", "0/7", "not readable", "2 submissions"):
        assert part in words, part
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text


def test_a_terminal_that_knows_ascii_only_gets_ascii(graded: list[SubmissionResult]) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Console(file=out, width=80).print(GradeTable(graded))
    out.flush()
    assert b"x failed" in raw.getvalue()


def test_files_are_written_one_for_each_student(graded: list[SubmissionResult], tmp_path: Path) -> None:
    odd = dataclasses.replace(graded[0], student="../../e\x1bvil name")
    files = write_reports([*graded, odd, graded[0]], tmp_path / "results")
    names = sorted(str(path.relative_to(tmp_path / "results")) for path in files)
    feedback_names = ["ada-2.txt", "ada.txt", "bob.txt", "evil_name.txt"]
    assert names == [*(f"feedback/{name}" for name in feedback_names), "results.json"]
    plain = json.loads((tmp_path / "results" / "results.json").read_text())
    assert plain["format"] == FORMAT
    for one in plain["submissions"]:
        assert Path(one["path"]).name in (tmp_path / "results" / one["feedback"]).read_text()


def test_names_that_differ_in_case_only_get_files_that_do_not(graded: list[SubmissionResult], tmp_path: Path) -> None:
    write_reports([dataclasses.replace(graded[0], student=name) for name in ("Ada", "ada")], tmp_path)
    assert {path.name for path in (tmp_path / "feedback").iterdir()} == {"Ada.txt", "ada-2.txt"}


def test_the_same_seed_gives_the_same_bytes(
    course: Course, notebook: Callable[..., Path], graded: list[SubmissionResult]
) -> None:
    path = notebook("def double(x):\n    return x\n")
    first, second = (json.dumps(to_plain(grade([path], course, seed=3, only={"double"}))) for _time in range(2))
    assert first == second
