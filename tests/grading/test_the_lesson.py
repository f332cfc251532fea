"""Test grading of real lessons: solved, untouched, wrong in every way, and with answers that break their process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from graded_files import grade_files
from lesson_files import right_answers, submission, wrong_answers
from needs import ON_THE_NEWEST

from jaxguide.course.books.folders import topics
from jaxguide.course.books.library import Course
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.submission_result import SubmissionResult


def _grade(whole_course: Course, path: Path, limits: Limits | None = None) -> SubmissionResult:
    (result,) = grade_files([path], whole_course, limits=limits)
    return result


@pytest.mark.parametrize("topic", [topics()[0], *(pytest.param(t, marks=ON_THE_NEWEST) for t in topics()[1:])])
@pytest.mark.parametrize("suffix", [".ipynb", ".py"])
def test_the_starter_gets_nothing_and_is_not_attempted(whole_course: Course, suffix: str, topic: str) -> None:
    result = _grade(whole_course, whole_course.folders.notebooks / f"{topic}{suffix}")
    assert {e.verdict for e in result.results} == {Verdict.NOT_ATTEMPTED}
    assert result.score == 0
    assert len(result.results) == len(whole_course.books[topic].exercises)


UNREPEATABLE = {"forgets_the_seed", "shows_before_seeding"}
"""Wrong answers that return something else each time, so that no answer can be said to behave like them."""
_HOURS = pytest.mark.hours(reason="CI grades the first wrong answers and proves all of them in one process")


@ON_THE_NEWEST
@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=_HOURS) for number in range(1, 7))])
def test_each_planted_misconception_is_reported(whole_course: Course, tmp_path: Path, number: int) -> None:
    book = whole_course.books["random_numbers"]
    wrong = wrong_answers(book, number)
    path = submission(book, tmp_path / "bob.ipynb", {name: source for name, (_n, _c, source) in wrong.items()})
    by_name = {e.name: e for e in _grade(whole_course, path).results}
    unnamed = set()
    for name, (misconception, check, _source) in wrong.items():
        failure = by_name[name].first_failure
        assert failure is not None, (name, misconception)
        assert failure.name == check, (name, failure.message)
        if misconception not in failure.misconceptions:
            unnamed.add(misconception)
    assert unnamed <= UNREPEATABLE


BREAKING = {
    "draw_by_draw": ("    while True: pass", Verdict.OUT_OF_TIME),
    "two_samples": ("    import os\n    os._exit(0)", Verdict.EXITED),
    "metropolis": ("    import sys\n    sys.exit()", Verdict.EXITED),
    "noise_for_rows": ("    return jnp.asarray(np.ones(3 * 2**30, np.uint8))", Verdict.OUT_OF_MEMORY),
}


@ON_THE_NEWEST
def test_four_answers_that_break_their_process_cost_no_other_its_mark(whole_course: Course, tmp_path: Path) -> None:
    book = whole_course.books["random_numbers"]
    answers = right_answers(book)
    for name, (body, _verdict) in BREAKING.items():
        answers[name] = f"def {name}{whole_course.exercise(name).signature}:\n{body}"
    result = _grade(whole_course, submission(book, tmp_path / "eve.ipynb", answers), Limits(cpu_s=8))
    for outcome in result.results:
        expected = BREAKING[outcome.name][1] if outcome.name in BREAKING else Verdict.PASSED
        assert outcome.verdict is expected, (outcome.name, outcome.first_failure)
        assert outcome.score == (0 if outcome.name in BREAKING else outcome.points)


@ON_THE_NEWEST
def test_a_truncated_notebook_gets_a_clear_line_and_the_others_are_graded(whole_course: Course, tmp_path: Path) -> None:
    book = whole_course.books["callbacks"]
    whole = submission(book, tmp_path / "ada.ipynb", {})
    (tmp_path / "cut.ipynb").write_text(whole.read_text()[:3000])
    command = [sys.executable, "-m", "jaxguide", "grade", str(tmp_path), "--json", "--out", str(tmp_path / "out")]
    # One exercise: before it grades, the grader tries the key's answers to all that it grades.
    command += ["--only", book.exercises[0].name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "cut.ipynb: The notebook is cut off" in done.stderr
    printed = json.loads(done.stdout)
    assert printed == json.loads((tmp_path / "out" / "results.json").read_text())
    ada, cut = printed["submissions"]
    assert (ada["unreadable"], len(ada["exercises"])) == (None, 1)
    assert "cut off" in cut["unreadable"]
    assert {path.stem for path in (tmp_path / "out" / "feedback").iterdir()} == {"ada", "cut"}


@ON_THE_NEWEST
def test_wrong_usage_ends_with_status_2(tmp_path: Path) -> None:
    for arguments in (["no_such_file.ipynb"], [], [str(tmp_path)], [str(tmp_path), "--only", "two_sample"]):
        done = subprocess.run([sys.executable, "-m", "jaxguide", "grade", *arguments], capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
