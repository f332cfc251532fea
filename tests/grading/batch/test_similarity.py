"""Test that near-identical answers are listed, that common code is not, and that results say what ran."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from graded_files import grade_files
from small_course import ANSWERS

from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.grading.batch.similarity import SimilarGroup, fingerprint, similar_groups
from jaxguide.grading.batch.submission_result import CellFact, CellState, SubmissionResult
from jaxguide.grading.intake.reading import answer_runs
from jaxguide.grading.intake.submission import Submission, read_submission

Notebook = Callable[..., Path]

LONG = '''
def double(x):
    """Add every number to itself, one after the other."""
    total = jnp.zeros_like(x)
    for place in range(len(x)):
        # twice the number
        total = total.at[place].set(x[place] + x[place])
    return jnp.where(jnp.isfinite(total), total, 0.0)
'''
RENAMED = """
def double(values: jax.Array) -> jax.Array:
    out = jnp.zeros_like(values)
    for i in range( len( values ) ):
        out = out.at[i].set(
            values[i] + values[i],
        )
    return jnp.where(jnp.isfinite(out), out, 0.0)
"""
ONE_WORD_CHANGED = LONG.replace("isfinite", "isnan")
OTHER = """
def double(x):
    pairs = jnp.stack([x, x], axis=0)
    weights = jnp.ones((2,), dtype=x.dtype)
    summed = jnp.tensordot(weights, pairs, axes=1)
    return summed.reshape(x.shape).astype(x.dtype)
"""


def submitted(path: Path, *cells: str) -> Submission:
    path.write_text("\n\n".join(f"# %%\n{cell}" for cell in cells))
    return read_submission(path)


def fingerprints(submission: Submission, book: Book) -> dict[str, str]:
    return {e.name: fingerprint(runs) for e in book.exercises if (runs := answer_runs(submission, e))}


def class_of(course: Course, folder: Path, answers: dict[str, str]) -> list[SubmissionResult]:
    (book,) = course.books.values()
    return [
        SubmissionResult(Path(name), name, fingerprints=fingerprints(submitted(folder / f"{name}.py", source), book))
        for name, source in answers.items()
    ]


def alike(course: Course, folder: Path, answers: dict[str, str]) -> list[tuple[list[str], float]]:
    return [(group.students, group.share) for group in similar_groups(class_of(course, folder, answers))]


def test_other_names_comments_and_layout_hide_nothing(course: Course, tmp_path: Path) -> None:
    (group,) = similar_groups(class_of(course, tmp_path, {"ada": LONG, "bob": RENAMED, "cy": OTHER}))
    assert group == SimilarGroup("double", ["ada", "bob"], 1.0, "identical")


def test_a_changed_word_leaves_the_answers_near(course: Course, tmp_path: Path) -> None:
    ((students, share),) = alike(course, tmp_path, {"ada": LONG, "bob": ONE_WORD_CHANGED, "cy": OTHER})
    assert students == ["ada", "bob"]
    assert 0.8 <= share < 1


def test_answers_made_apart_are_no_group(course: Course, tmp_path: Path) -> None:
    assert alike(course, tmp_path, {"ada": LONG, "cy": OTHER}) == []


def test_short_answers_and_the_starter_are_no_group(course: Course, tmp_path: Path) -> None:
    assert alike(course, tmp_path, dict.fromkeys(("ada", "bob"), ANSWERS["double"])) == []
    (book,) = course.books.values()
    long_starter = course.exercise("slope")
    assert fingerprints(submitted(tmp_path / "x.py", long_starter.starter_source), book) == {}


def test_what_most_of_a_class_writes_is_no_group(course: Course, tmp_path: Path) -> None:
    most = {f"student{n}": LONG for n in range(4)}
    assert alike(course, tmp_path, {**most, "ada": OTHER, "bob": OTHER}) == [(["ada", "bob"], 1.0)]
    assert alike(course, tmp_path, dict(list(most.items())[:2])) == [(["student0", "student1"], 1.0)]


def test_two_files_of_one_student_are_no_group(course: Course, tmp_path: Path) -> None:
    first, second = class_of(course, tmp_path, {"ada": LONG, "bob": LONG})
    second.student = "ada"
    assert similar_groups([first, second]) == []


def test_a_function_that_the_answer_calls_is_compared_too(course: Course, tmp_path: Path) -> None:
    calls = "def double(x):\n    return helper(x)\n"
    helper, other = LONG.replace("double", "helper"), RENAMED.replace("double", "assist")
    answers = {"ada": helper + calls, "bob": other + calls.replace("helper", "assist"), "cy": calls}
    assert alike(course, tmp_path, answers) == [(["ada", "bob"], 1.0)]


def test_no_code_stops_the_comparison(course: Course, tmp_path: Path) -> None:
    deep = "def double(x):\n    return " + "-" * 900 + "x + " + " + ".join(["x"] * 3000) + "\n"
    assert alike(course, tmp_path, {"ada": deep, "bob": LONG, "cy": LONG}) == [(["bob", "cy"], 1.0)]


@pytest.mark.long
def test_a_class_of_a_thousand_is_compared_soon(course: Course, tmp_path: Path) -> None:
    """Five hundred different answers made of the same words, each submitted by two students."""
    (book,) = course.books.values()
    rows = []
    for number in range(500):
        calls = enumerate(("add", "sub", "mul", "div") * 4, 1)
        lines = [f"    x = jnp.{word}(x, {(number + 1) * k % 1009})" for k, word in calls]
        own = fingerprints(submitted(tmp_path / "x.py", "\n".join(["def double(x):", *lines, "    return x"])), book)
        rows += [SubmissionResult(Path(), f"{number}{letter}", fingerprints=own) for letter in "ab"]
    started = time.process_time()
    groups = similar_groups(rows)
    assert [len(group.students) for group in groups] == [2] * 500
    assert time.process_time() - started < 60


@pytest.mark.long
def test_the_batch_lists_similar_answers(course: Course, notebook: Notebook) -> None:
    files = [notebook(source, name=f"{name}.ipynb") for name, source in (("ada", LONG), ("bob", RENAMED))]
    results = list(grade_files(files, course, only={"double"}))
    again = [SubmissionResult.from_plain(one.to_plain()) for one in results]
    assert similar_groups(again) == [SimilarGroup("double", ["ada", "bob"], 1.0, "identical")]


@pytest.fixture
def facts(course: Course, notebook: Notebook) -> list[CellFact]:
    path = notebook(
        "%matplotlib inline\nimport jax\n!ls",
        "def double(x):\n    return x\n",
        ANSWERS["double"],
        "raise ValueError('no')\ndef triple(x):\n    return 3 * x\n",
        "def quadruple(x) return 4 * x",
        "import os; os._exit(3)\ndef quintuple(x):\n    return 5 * x\n",
        "def pair(x):\n    return 'a\0b'\n",
        "\n# nothing\n",
        "scale = jnp.float32(10.0)\nplt.plot([0, 1])\n\n\ndef loss(x):\n    return (x**2).sum()\n",
        'def slope(f, x):\n    """Return the gradient of f at x."""\n    return f(x)\n',
    )
    (result,) = grade_files([path], course)
    said = {one.name: one.verdict.value for one in result.results}
    assert said["pair"] == "rejected"
    assert said["double"] == "passed"
    assert "code cell 7: rejected, not run. It contains characters that are not allowed in Python." in result.repairs
    return SubmissionResult.from_plain(result.to_plain()).cells


def test_every_cell_has_its_fate(facts: list[CellFact]) -> None:
    assert [fact.fate for fact in facts] == [
        *(
            CellState.RAN,
            CellState.RAN,
            CellState.RAN,
            CellState.FAILED,
            CellState.NOT_PYTHON,
            CellState.LEFT_OUT,
            CellState.REJECTED,
            CellState.EMPTY,
        ),
        *(CellState.AS_PRINTED, CellState.RAN),
    ]
    assert [fact.number for fact in facts] == list(range(1, 11))
    assert {fact.lesson for fact in facts} == {"small_numbers"}
    assert facts[3].why == "ValueError: no"
    assert facts[0].magics == ["%matplotlib inline", "!ls"]


def test_duplicates_and_which_one_counts_are_facts(facts: list[CellFact]) -> None:
    assert [(fact.answers, fact.counts) for fact in facts] == [
        ([], []),
        (["double"], []),
        (["double"], ["double"]),
        (["triple"], []),
        (["quadruple"], []),
        (["quintuple"], []),
        (["pair"], []),
        ([], []),
        ([], []),
        ([], []),
    ]
