"""Test that hidden inputs are the same for a class, as secret as the seed, and reproducible from it."""

import hashlib
import hmac
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_course import write_course

from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.books.digest import course_digest, what_decides
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.draw import DEFAULT_SEED, Draw, fresh_seed
from jaxguide.course.judging.judge import Judging
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.grader import course_state_digest as digest_on_this_jax

Notebook = Callable[..., Path]
WRONG = "def double(x):\n    print('got', [float(one) for one in x])\n    return 2 * x if len(x) == 3 else x\n"


def hidden(seed: int, digest: str, exercise: str = "double", check: str = "doubles_any_numbers") -> list[float]:
    return [float(one) for one in Draw.hidden(seed, digest, exercise, check).floats(5)]


def test_hidden_inputs_are_an_hmac_of_course_exercise_and_check_under_the_seed() -> None:
    digest = hmac.new(b"17", b"4f\0double\0any", hashlib.sha256).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
    assert Draw.hidden(17, "4f", "double", "any").integer(0, 10**9) == int(generator.integers(0, 10**9))


@pytest.mark.parametrize(
    "other", [(8, "4f", "e", "c"), (7, "5f", "e", "c"), (7, "4f", "f", "c"), (7, "4f", "e", "d"), (7, "4fe", "", "c")]
)
def test_each_part_changes_them(other: tuple[int, str, str, str]) -> None:
    assert hidden(7, "4f", "e", "c") == hidden(7, "4f", "e", "c")
    assert hidden(7, "4f", "e", "c") != hidden(*other)


def test_a_fresh_seed_is_new_each_time_and_fits_the_store() -> None:
    seeds = {fresh_seed() for _time in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**50


def test_two_students_and_the_reference_get_the_same_hidden_inputs(course: Course, notebook: Notebook) -> None:
    seen = []
    for name in ("ada.ipynb", "bob.ipynb"):
        grader = Grader(course, GradeSettings(seed=99, only=frozenset({"double"})))
        (result,) = grader.grade(notebook(WRONG, name=name)).results
        (check,) = (check for check in result.checks if check.hidden)
        seen.append((check.call, check.got, check.expected, result.hidden_printed))
        said = [line for line in result.hidden_printed.splitlines() if line.count(",") == 4]
        assert said == [f"got {hidden(99, course_digest(course))}"]
    assert seen[0] == seen[1]


def test_visible_inputs_are_those_of_the_notebook(course: Course, notebook: Notebook) -> None:
    grader = Grader(course, GradeSettings(only=frozenset({"double"})))
    (result,) = grader.grade(notebook("def double(x):\n    return x\n")).results
    exercise = course.exercise("double")
    in_the_notebook = Judging(exercise).judge(LocalAnswer("double", lambda x: x, {}))
    assert result.checks[0].call == in_the_notebook.checks[0].call
    assert not result.checks[0].hidden
    drawn = Draw(DEFAULT_SEED, "double", result.checks[0].name).floats(3)
    assert f"{float(drawn[0]):.9f}"[:8] in result.checks[0].call


def test_visible_inputs_tell_nothing_of_hidden_ones_of_the_same_seed() -> None:
    assert hidden(0, "") != [float(one) for one in Draw(0, "double", "doubles_any_numbers").floats(5)]


def test_grading_and_judging_agree_on_hidden_inputs(course: Course, notebook: Notebook) -> None:
    grader = Grader(course, GradeSettings(seed=5, only=frozenset({"double"})))
    graded = grader.grade(notebook(WRONG)).results[0]
    book: Book = course.books["small_numbers"]
    exercise = course.exercise("double")
    assert exercise.key is not None
    names = run_answer(book, exercise.key.answer.source)
    wrong = run_answer(book, WRONG)
    judged = Judging(
        exercise, seed=5, reference=LocalAnswer("double", names["double"], names), course_digest=course_digest(course)
    ).judge(LocalAnswer("double", wrong["double"], wrong))
    assert [(c.name, c.verdict, c.call) for c in graded.checks] == [(c.name, c.verdict, c.call) for c in judged.checks]


def edited(folder: Path, file: str, old: str, new: str) -> str:
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return course_digest(load_course(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_course(tmp_path)
    return tmp_path


BOOK, KEY = "exercises/small_numbers.py", "solutions/small_numbers.py"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (BOOK, "# # Small numbers", "# # Small, numbers.\n#\n# More prose."),
        (BOOK, "scale = jnp.float32(10.0)", "scale = jnp.float32(10.0)  # ten\n\n"),
        (BOOK, "plt.plot([0, 1])", "plt.plot([0, 2])"),
        (BOOK, 'title="double"', 'title="Twice"'),
        (BOOK, '"How?"', '"What is twice a number?"'),
        (BOOK, "    x = draw.floats(3)\n", "    # three\n    x = draw.floats(\n        3\n    )\n"),
        (KEY, "    return 2.0 * x", "    # twice\n    return (2.0 * x)"),
        (KEY, 'SECRET = "the secret of the key"', "SECRET = 'the secret of the key'"),
    ],
)
def test_prose_comments_layout_titles_and_hints_change_no_digest(folder: Path, file: str, old: str, new: str) -> None:
    before = course_digest(load_course(folder))
    assert edited(folder, file, old, new) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (BOOK, "scale = jnp.float32(10.0)", "scale = jnp.float32(11.0)"),
        (BOOK, "Return 2.0 times", "Return two times"),
        (BOOK, "x = draw.floats(3)", "x = draw.floats(4)"),
        (BOOK, "points=2", "points=3"),
        (KEY, "return 2.0 * x", "return x * 2.0"),
        (KEY, "x = draw.floats(5)", "x = draw.floats(6)"),
        (KEY, 'SECRET = "the secret', 'SECRET = "another secret'),
    ],
)
def test_contracts_checks_and_keys_change_the_digest(folder: Path, file: str, old: str, new: str) -> None:
    before = course_digest(load_course(folder))
    assert edited(folder, file, old, new) != before


def test_what_a_key_plants_counts_though_it_binds_no_name() -> None:
    text = '# %% double\nwrong_value("zero", lambda x: 0 * x, rejected_by="a")\n'
    assert list(what_decides(text, is_key=True)) != []
    assert list(what_decides(text.replace("double", ""), is_key=False)) == []


def test_the_digest_is_the_same_on_every_python(folder: Path) -> None:
    """If a Python computed a different digest, the hidden inputs could not be drawn again there."""
    book = folder / BOOK
    more = "def more(*, a: int = 1, **b):\n    return f\"{a!r:>{b['c']}} \" 'x'\n"
    book.write_text(f"{book.read_text()}\n\n# %%\n{more}")
    assert course_digest(load_course(folder)) == "6b51692891c1ed8e577d61d174538fd6fbf39d27dd777bae01f8e7d7a15a4f3a"


def test_results_are_kept_apart_by_the_jax_version_and_inputs_are_not(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jax

    before = digest_on_this_jax(course), course_digest(course)
    monkeypatch.setattr(jax, "__version__", "99.0")
    assert digest_on_this_jax(course) != before[0]
    assert course_digest(course) == before[1]


@pytest.mark.long
def test_a_process_started_anew_draws_the_same(course: Course) -> None:
    code = (
        "import sys; from pathlib import Path; from jaxguide.course.books.digest import course_digest;"
        "from jaxguide.course.judging.draw import Draw; from jaxguide.course.books.library import load_course;"
        "digest = course_digest(load_course(Path(sys.argv[1])));"
        "print([float(x) for x in Draw.hidden(3, digest, 'double', 'doubles_any_numbers').floats(5)])"
    )
    command = [sys.executable, "-c", code, str(course.folders.exercises.parent)]
    environment = {**os.environ, "PYTHONHASHSEED": "5"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == str(hidden(3, course_digest(course)))
