"""Test that the same answer counts as one try, and a stub as none, in notebooks, scripts, shells and the terminal."""

import ast
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernel import run_in_kernel, shell_here

from jaxguide import lesson
from jaxguide.code.sameness import WITHOUT_SOURCE, answer_id, answer_in_session, starters_in_cells
from jaxguide.course.books.library import read_outline, students_course
from jaxguide.course.books.printer import printed_cells
from jaxguide.course.progress import Progress
from jaxguide.course.verdict import Verdict
from jaxguide.student.answers_in_files import read_answers
from jaxguide.student.check_file import check_file
from jaxguide.student.help import why_closed

HEAD = "import functools\nimport jax\nimport jax.numpy as jnp"

# Exercise -> the cells of a wrong answer; each try replaces ONE by another number.
TRIES = {
    "sliding_dot": ["def sliding_dot(x, w):\n    '''Mine.'''\n    return jnp.zeros(3) + ONE  # twice"],
    "loop_over_batch": ["@jax.jit\ndef loop_over_batch(xs, ws):\n    return ONE * xs"],
    "vectorized_by_hand": ["vectorized_by_hand = lambda xs, ws: ONE * xs"],
    "vectorized_by_vmap": ["def one(x, w):\n    return ONE * x", "vectorized_by_vmap = jax.vmap(one)"],
    "slide_layout": ["slide_layout = functools.partial(lambda xs, ws, n: n * xs, n=ONE)"],
    "predict_with_all": [
        "SCALE = ONE",
        "def predict_with_all(params, table):\n    return half(SCALE)",
        "def half(x):\n    return x / 2",
    ],
    "jit_and_vmap": [
        "@jax.custom_jvp\ndef bent(x):\n    return x",
        "@bent.defjvp\ndef _(primals, tangents):\n    return primals[0], ONE * tangents[0]",
        "def jit_and_vmap(*args):\n    return bent(1.0)",
    ],
    "pairwise_distances": [
        "def pairwise_distances(*points):\n    return ONE",
        "pairwise_distances = jax.jit(pairwise_distances)",
    ],
    "means_of_padded_rows": [
        "class Means:\n    def __call__(self, *args):\n        return ONE",
        "means_of_padded_rows = Means()",
    ],
    "in_pieces": ["%%time\ndef in_pieces(*args):\n    return ONE"],
}


def cells(number: int, *, checks: bool) -> list[str]:
    """Return the cells of a session that answers all exercises in `TRIES`, with `number` in each answer."""
    answers = [cell.replace("ONE", f"{number}.0") for tried in TRIES.values() for cell in tried]
    return [HEAD, *answers, *([f"check({name})" for name in TRIES] if checks else [])]


def notebook(folder: Path, sources: list[str]) -> Path:
    path = folder / "mine.ipynb"
    plain = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    path.write_text(json.dumps({"cells": plain, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def script(folder: Path, sources: list[str], marker: str) -> Path:
    path = folder / "mine.py"
    path.write_text("\n\n".join(f"{marker}{source}  # said" for source in sources).replace("%%time\n", ""))
    return path


def tries(folder: Path) -> dict[str, int]:
    return {name: Progress(folder).of(name).tries for name in TRIES}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    return tmp_path


@pytest.fixture
def shell() -> Iterator[Any]:
    with shell_here() as shell:
        shell.run_cell("from jaxguide.lesson import check", store_history=True)
        yield shell


def run(shell: Any, sources: list[str]) -> None:
    for source in sources:
        shell.run_cell(source, store_history=True).raise_error()


def test_an_answer_counts_once_however_it_is_checked(
    workspace: Path, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    course, progress = students_course(), Progress(workspace)
    run(shell, cells(1, checks=True))
    once = dict.fromkeys(TRIES, 1)
    assert tries(workspace) == once
    run(shell, [cell.replace("  # twice", "") for cell in cells(1, checks=True)])
    check_file(notebook(workspace, cells(1, checks=False)), course, progress)
    check_file(script(workspace, cells(1, checks=False), marker=""), course, progress)
    checking = ["from jaxguide.lesson import check", *cells(1, checks=True)]
    runpy.run_path(str(script(workspace, checking, marker="# %%\n")), run_name="__main__")
    assert tries(workspace) == once
    check_file(script(workspace, cells(2, checks=False), marker="# %%\n"), course, progress)
    twice = dict.fromkeys(TRIES, 2)
    assert tries(workspace) == twice
    run(shell, cells(2, checks=True))
    assert tries(workspace) == twice
    assert not any(one.startswith(WITHOUT_SOURCE) for name in TRIES for one in progress.of(name).attempts)


@pytest.mark.long
def test_an_answer_checked_in_a_kernel_and_in_the_terminal_is_one_try(workspace: Path) -> None:
    answer = "@jax.jit\ndef sliding_dot(x, w):\n    return 0 * x"
    run_in_kernel(["from jaxguide.lesson import check\nimport jax", answer, "check(sliding_dot)"])
    (workspace / "answers.py").write_text(f"import jax\n\n\n{answer}\n")
    command = [sys.executable, "-m", "jaxguide", "check", "answers.py", "sliding_dot"]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, env=dict(os.environ))
    assert "Not right yet" in done.stdout, done.stderr
    exercise, progress = students_course().exercise("sliding_dot"), Progress(workspace)
    assert len(progress.of("sliding_dot").attempts) == 1
    assert "check 2 more different answers" in str(why_closed(exercise, students_course(), progress, True, "notebook"))


def test_a_cell_that_failed_before_its_def_is_no_try(workspace: Path, shell: Any) -> None:
    run(shell, [HEAD, "def sliding_dot(x, w):\n    return 0 * x", "check(sliding_dot)"])
    failed = shell.run_cell("1 / 0\ndef sliding_dot(x, w):\n    return 1 * x", store_history=True)
    assert isinstance(failed.error_in_exec, ZeroDivisionError)
    run(shell, ["check(sliding_dot)"])
    assert tries(workspace)["sliding_dot"] == 1


def test_the_books_own_code_is_no_part_of_an_answer(workspace: Path, shell: Any) -> None:
    (printed,) = (c.source for c in printed_cells(students_course().books["vectorization"]) if "def slide(" in c.source)
    answer = "def vectorized_by_vmap(xs, ws):\n    return slide(xs, ws)"
    run(
        shell,
        [
            HEAD,
            "import numpy as np\nx, w, series = jnp.ones(4), jnp.ones(3), jnp.ones((1, 5))",
            printed,
            answer,
            "check(vectorized_by_vmap)",
        ],
    )
    (workspace / "mine.py").write_text(answer)
    progress = Progress(workspace)
    check_file(workspace / "mine.py", students_course(), progress)
    assert progress.of("vectorized_by_vmap").tries == 1
    changed = "def slide(x, w):\n    return x"
    run(shell, [changed, "check(vectorized_by_vmap)"])
    assert progress.of("vectorized_by_vmap").tries == 2


def test_without_source_bytecode_is_compared_and_never_counts_beside_it(workspace: Path, shell: Any) -> None:
    def typed(number: int) -> dict[str, Any]:
        names: dict[str, Any] = {}
        exec(f"def sliding_dot(x, w):\n    return {number} * x", names)
        return names

    progress = Progress(workspace)
    for number, expected in ((1, 1), (1, 1), (2, 2)):
        lesson._check("sliding_dot", typed(number))
        assert progress.of("sliding_dot").tries == expected
    assert all(one.startswith(WITHOUT_SOURCE) for one in progress.of("sliding_dot").attempts)
    for number, expected in ((1, 2), (2, 2), (3, 3)):
        run(shell, [f"def sliding_dot(x, w):\n    return {number} * x", "check(sliding_dot)"])
        assert progress.of("sliding_dot").tries == expected


def test_tries_noted_before_count_as_they_did(workspace: Path, shell: Any) -> None:
    old = {"passed": False, "attempts": ["0123456789ab", "ba9876543210"], "hints": 1, "guess": None}
    (workspace / "jaxguide-progress.json").write_text(json.dumps({"version": 1, "exercises": {"sliding_dot": old}}))
    assert Progress(workspace).of("sliding_dot").tries == 2
    run(shell, ["def sliding_dot(x, w):\n    return x", "check(sliding_dot)"])
    assert Progress(workspace).of("sliding_dot").tries == 3


# Stubs: an empty one, and one with code to repair.

EMPTY = "def sliding_dot(x, w):\n    ..."
STUBS = {
    "empty": (EMPTY, True),
    "with other arguments": ("def sliding_dot(a, b): ...", True),
    "with annotations": ("def sliding_dot(x: jax.Array, w: jax.Array = None) -> jax.Array: ...", True),
    "pass": ("def sliding_dot(x, w):\n    # later\n    pass", True),
    "a docstring": ("def sliding_dot(x, w):\n    'Slide.'", True),
    "return None": ("def sliding_dot(x, w):\n    'Slide.'\n    return None", True),
    "decorated": (f"@jax.jit\n{EMPTY}", True),
    "a statement": ("def sliding_dot(x, w):\n    y = x", False),
    "a value": ("def sliding_dot(x, w):\n    return 0", False),
    "a text": ("def sliding_dot(x, w):\n    return 'Slide.'", False),
    "a lambda": ("sliding_dot = lambda x, w: None", False),
}


def _without_docstring(source: str) -> ast.FunctionDef:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    function.body = function.body[1:] or [ast.Pass()]
    return function


def _mended() -> dict[str, tuple[str, bool]]:
    printed = read_outline().exercise("moving_sum").starter_source
    function = _without_docstring(printed)
    bare, first = ast.unparse(function), function.args.args[0].arg
    head, _colon, body = bare.partition(":\n")
    return {
        "as printed": (printed, True),
        "without its docstring": (bare, True),
        "with comments": (f"{bare}  # hm", True),
        "with annotations": (bare.replace(f"({first}", f"({first}: object", 1), True),
        "with one statement more": (f"{head}:\n    y = 1\n{body}", False),
        "with a default": (bare.replace("):", "=None):", 1), False),
        "decorated": (f"@jax.jit\n{printed}", False),
        "jitted below": (f"{printed}\n\nmoving_sum = jax.jit(moving_sum)", False),
    }


CASES = [
    *(pytest.param("sliding_dot", *case, id=f"empty stub: {name}") for name, case in STUBS.items()),
    *(pytest.param("moving_sum", *case, id=f"stub to mend: {name}") for name, case in _mended().items()),
]


@pytest.mark.parametrize(("name", "source", "expected"), CASES)
def test_a_starter_is_one_in_notebook_shell_terminal_and_grader(
    workspace: Path, shell: Any, capsys: pytest.CaptureFixture[str], name: str, source: str, expected: bool
) -> None:
    course, exercise = students_course(), students_course().exercise(name)
    run(shell, [HEAD, source, f"check({name})"])
    said = capsys.readouterr().out
    assert ("Not started yet" in said) == expected
    assert (Progress(workspace).of(name).tries == 0) == expected
    assert (name in starters_in_cells([ast.parse(source)], course.exercises)[0][0]) == expected
    path = workspace / "mine.py"
    path.write_text(f"{HEAD}\n\n\n{source}\n")
    assert (name not in read_answers(path, course).prints) == expected
    names: dict[str, Any] = {}
    exec(f"{HEAD}\n{source}", names)
    identity, is_starter = answer_in_session(names[name], exercise, names)
    assert identity.startswith(WITHOUT_SOURCE)
    if source != STUBS["a lambda"][0] and "=None" not in source:  # bytecode does not tell these apart
        assert is_starter == expected


@pytest.mark.parametrize("case", ["with other arguments", "decorated", "a text"])
def test_a_check_of_a_file_says_of_a_stub_what_the_notebook_says(tmp_path: Path, case: str) -> None:
    source, expected = STUBS[case]
    (tmp_path / "mine.py").write_text(f"{HEAD}\n\n\n{source}\n")
    (result,) = check_file(tmp_path / "mine.py", students_course(), Progress(tmp_path), ["sliding_dot"]).results
    assert (result.verdict is Verdict.NOT_ATTEMPTED) == expected


def test_every_printed_stub_is_one_in_a_notebook(workspace: Path, shell: Any) -> None:
    run(shell, [f"{HEAD}\nimport numpy as np\nfrom functools import partial"])
    for book in students_course().books.values():
        for cell in printed_cells(book):
            if cell.kind == "exercise":
                run(shell, [cell.source.rsplit("check(", 1)[0]])
        for exercise in book.exercises:
            names = shell.user_ns
            assert answer_in_session(names[exercise.name], exercise, names, book.given)[1], exercise.name


@pytest.mark.parametrize("whole", [True, False])
def test_every_printed_stub_is_one_without_source(whole: bool) -> None:
    imports = "import jax, numpy as np, jax.numpy as jnp\nfrom functools import partial\n"
    for book in students_course().books.values():
        stubs = [exercise.starter_source for exercise in book.exercises]
        bare = [ast.unparse(_without_docstring(stub)) for stub in stubs]
        for sources in (stubs, bare):
            names: dict[str, Any] = {}
            # CPython compiles some calls differently after imports in the same source.
            for source in ["\n".join([imports, *sources])] if whole else [imports, *sources]:
                exec(source, names)
            for exercise in book.exercises:
                assert answer_in_session(names[exercise.name], exercise, names)[1], exercise.name


def test_ids_do_not_depend_on_what_says_nothing() -> None:
    one = answer_id(["@jax.jit\ndef f(x):\n    'Twice.'\n    y = 2 * x  # twice\n\n    return y"], "f")
    for other in (
        "@jax.jit\ndef f(x: float) -> float:\n  y = 2*x\n  return (y)",
        "x = 1\n@jax.jit\ndef f(x):\n    'A'; y = 2 * x\n    pass; return y\nx += 1",
    ):
        assert answer_id([other], "f") == one
    for other in ("def f(x):\n    y = 2 * x\n    return y", "@jax.jit\ndef f(z):\n    y = 2 * z\n    return y"):
        assert answer_id([other], "f") != one
