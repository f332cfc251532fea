"""Test that code given in an exercise's cell belongs to the exercise, wherever an answer is read, judged or reset."""

import ast
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernel import shell_here

from jaxguide import lesson
from jaxguide.code.sameness import answer_in_session, starters_in_cells
from jaxguide.course.books.handout import for_students, print_files
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.books.printer import printable_source
from jaxguide.course.progress import Progress
from jaxguide.course.verdict import Verdict
from jaxguide.proving.proof import ProofSettings
from jaxguide.proving.prover import prove_exercise
from jaxguide.student.answers_in_files import read_answers
from jaxguide.student.check_file import check_file
from jaxguide.student.reset import give_stub_back

HEAD = "import jax\nimport jax.numpy as jnp"
# Exercise -> its function, what is given above and to be filled in, the same filled in, and what is given below.
CELLS = {
    "with_a_rule": (
        "@jax.custom_vjp\ndef with_a_rule(x):\n    return x\n",
        "def forward(x):\n    ...\n\n\ndef backward(rest, g):\n    '''Return it.'''\n",
        "def forward(x):\n    return x, None\n\n\ndef backward(_rest, g):\n    return (5 * g,)\n",
        "with_a_rule.defvjp(forward, backward)\n",
    ),
    "wrapped": (
        "def wrapped(x):\n    return x\n",
        "def slope(x, dx):\n    # Fill this in.\n    raise NotImplementedError\n",
        "def slope(x, dx):\n    return x[0], 5 * dx[0]\n",
        "wrapped = jax.custom_jvp(wrapped)\nwrapped.defjvp(slope)\n",
    ),
    "driven": (
        "def driven(x):\n    return Times(FACTOR)(x)\n",
        "FACTOR = None\n\n\nclass Times:\n    '''It.'''\n\n    def __init__(self, factor):\n        self.factor = 1\n",
        "FACTOR = 5.0\n\n\nclass Times:\n    def __init__(self, factor):\n        self.factor = factor\n\n"
        "    def __call__(self, x):\n        return self.factor * x\n",
        "",
    ),
}
_BOOK = """
# %% exercise
{given}

@exercise(title="It", hints=["How?", "See https://docs.jax.dev/", "return ____"])
{function}

{below}
# %% check
@visible({name})
def its_slope_is_5(answer):
    \"\"\"It is 5.\"\"\"
    expect_close(answer.grad()(jnp.float32(3.0)), jnp.float32(5.0))
"""
_KEY = """
# %% {name}
{filled}

@answer
{function}

{below}
@wrong(rejected_by="its_slope_is_5", misses_the_point=True)
def thrice(x):
    return 3 * x


@wrong(rejected_by="its_slope_is_5")
def minus_5(x):
    return -5 * x
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    folder = tmp_path_factory.mktemp("given")
    book = (
        "# %% check\nfrom jaxguide.course.author import exercise, expect_close, visible\n\n# %% [markdown]\n# # Given\n"
    )
    book += f"\n# %%\n{HEAD}\n"
    key = "# %%\nfrom jaxguide.course.author import answer, wrong\n"
    for name, (function, given, filled, below) in CELLS.items():
        stated = function.replace("(x):\n", '(x):\n    """It: float32[] -> float32[]."""\n', 1)
        book += _BOOK.format(name=name, function=stated, given=given, below=below)
        key += _KEY.format(name=name, function=function, filled=filled, below=below)
    for part, text in (("exercises", book), ("solutions", key)):
        (folder / part).mkdir()
        (folder / part / "given.py").write_text(text)
    loaded = load_course(folder)
    print_files(for_students(loaded), folder / "notebooks")
    return loaded


@pytest.fixture
def shell(course: Course, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    monkeypatch.setattr(lesson, "_session", lesson._Session("given", course.folders.top))
    with shell_here() as shell:
        shell.run_cell(f"from jaxguide.lesson import check\n{HEAD}", store_history=True)
        yield shell


def printed(course: Course, name: str) -> str:
    return printable_source(course.exercise(name)).rsplit("check(", 1)[0]


LAYOUTS = ("as printed", "filled in its cell", "filled below", "the function and what is filled, apart")


def cells(course: Course, name: str, layout: str) -> list[str]:
    """Return the cells of a student who has filled in an exercise, or of one who has not."""
    whole, (function, given, filled, below) = printed(course, name), CELLS[name]
    return {
        "as printed": [whole],
        "filled in its cell": [whole.replace(given, filled)],
        "filled below": [whole, f"{filled}\n\n{below}"],
        "the function and what is filled, apart": [filled, function, below],
    }[layout]


def notebook(path: Path, sources: list[str]) -> Path:
    plain = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    path.write_text(json.dumps({"cells": plain, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CELLS)
def test_what_is_filled_in_is_an_answer_in_every_place(
    course: Course, shell: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, layout: str
) -> None:
    sources, is_answer = cells(course, name, layout), layout != LAYOUTS[0]
    for source in (*sources, f"check({name})"):
        shell.run_cell(source, store_history=True).raise_error()
    said = capsys.readouterr().out
    assert ("Not started yet" in said, "✓ Right" in said) == (not is_answer, is_answer), said
    (tmp_path / "mine.py").write_text("\n\n\n".join([HEAD, *sources]))
    progress = Progress(tmp_path, course.identity)
    for path in (notebook(tmp_path / "mine.ipynb", [HEAD, *sources]), tmp_path / "mine.py"):
        assert (name in read_answers(path, course).prints) == is_answer
        verdicts = {one.name: one.verdict for one in check_file(path, course, progress).results}
        assert verdicts.pop(name) is (Verdict.PASSED if is_answer else Verdict.NOT_ATTEMPTED)
        assert set(verdicts.values()) == {Verdict.NOT_ATTEMPTED}
    assert progress.of(name).tries == is_answer, "it is one try, wherever it is checked"


def test_the_printed_lesson_answers_nothing(course: Course, tmp_path: Path) -> None:
    for path in sorted(course.folders.notebooks.glob("given.*")):
        assert not [*read_answers(path, course).prints]
        found = check_file(path, course, Progress(tmp_path)).results
        assert [one.verdict for one in found] == [Verdict.NOT_ATTEMPTED] * 3


@pytest.mark.parametrize("name", CELLS)
def test_another_part_that_is_filled_in_is_another_answer(course: Course, tmp_path: Path, name: str) -> None:
    path, seen = tmp_path / "mine.ipynb", set()
    for number in ("5", "6", "7"):
        notebook(path, [HEAD, *(one.replace("5", number) for one in cells(course, name, LAYOUTS[2]))])
        seen.add(read_answers(path, course).prints[name])
        check_file(path, course, Progress(tmp_path, course.identity), only=[name])
    assert (len(seen), Progress(tmp_path, course.identity).of(name).tries) == (3, 3)


@pytest.mark.parametrize("name", CELLS)
def test_a_mistake_in_a_part_is_told_of_the_exercise(course: Course, tmp_path: Path, name: str) -> None:
    broken = CELLS[name][2].replace(":\n", "\n", 1)
    path = notebook(tmp_path / "mine.ipynb", [HEAD, printed(course, name), broken])
    (found,) = check_file(path, course, Progress(tmp_path), only=[name]).results
    assert found.verdict is Verdict.ERROR
    assert found.first_failure is not None
    assert "SyntaxError" in found.first_failure.message


def test_code_of_one_name_belongs_to_the_exercise_in_its_cell(course: Course) -> None:
    exercise, (_function, given, filled, _below) = course.exercise("with_a_rule"), CELLS["with_a_rule"]
    other = dataclasses.replace(
        exercise,
        name="another",
        starter_source=exercise.starter_source.replace("with_a_rule", "another"),
        cell_source=exercise.cell_source.replace("with_a_rule", "another"),
    )
    both = {one.name: one for one in (exercise, other)}
    for first, second, expected in (
        (exercise.cell_source, other.cell_source, [{"with_a_rule"}, {"another"}]),
        (exercise.cell_source, other.cell_source.replace(given, filled), [{"with_a_rule"}, set()]),
        (exercise.cell_source.replace(given, filled), other.cell_source, [set(), {"another"}]),
    ):
        assert starters_in_cells([ast.parse(first), ast.parse(second)], both)[0] == expected


def test_what_is_typed_without_source_is_compared_too(course: Course) -> None:
    exercise, (_function, given, filled, _below) = course.exercise("with_a_rule"), CELLS["with_a_rule"]
    for answer in (given, filled):
        names: dict[str, Any] = {}
        exec(f"{HEAD}\n{printed(course, exercise.name).replace(given, answer)}", names)
        assert answer_in_session(names[exercise.name], exercise, names)[1] == (answer == given)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("kind", ["notebook", "script", "cells"])
def test_a_reset_gives_the_whole_cell_back(course: Course, tmp_path: Path, name: str, layout: str, kind: str) -> None:
    sources = [HEAD, *cells(course, name, layout), "other = 1"]
    path = notebook(tmp_path / "mine.ipynb", sources)
    if kind != "notebook":
        path = tmp_path / "mine.py"
        path.write_text("\n\n\n".join(sources if kind == "script" else [f"# %%\n{one}" for one in sources]))
    backup = give_stub_back(path, course.exercise(name), course.book_of(course.exercise(name)), tmp_path)
    found = read_answers(path, course)
    assert (name in found.places, name in found.prints) == (True, False), path.read_text()
    assert "other = 1" in path.read_text()
    for part in CELLS[name][2].split("\n\n\n"):
        assert part.strip() in backup.read_text()


@pytest.mark.parametrize("name", CELLS)
def test_it_is_proven_if_the_answer_is_not_given(course: Course, name: str) -> None:
    exercise, settings = course.exercise(name), ProofSettings.of_course(course, 1)
    key, book = exercise.key, course.book_of(exercise)
    assert key is not None
    assert prove_exercise(book, exercise, settings).problems == []
    complete = dataclasses.replace(exercise, cell_source=key.answer.source)
    assert "is the starter" in prove_exercise(book, complete, settings).problems[0].message
