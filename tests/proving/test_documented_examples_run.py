"""Test that `verify` runs the documented examples that a book shows, and asks for one cell for each."""

import re
from pathlib import Path

import pytest
from documented_book import CODE, SHOWN, show

from jaxguide.course.books.library import load_course
from jaxguide.proving.proof import Proof, ProofSettings
from jaxguide.proving.prover import prove_exercise


def proof(folder: Path, cell: str) -> Proof:
    show(folder, cell)
    course = load_course(folder)
    exercise = course.exercise("double")
    return prove_exercise(course.book_of(exercise), exercise, ProofSettings.of_course(course, 1))


def problems(folder: Path, code: str, output: str) -> list[tuple[str, ...]]:
    """Prove the exercise with a documented example; return the lines that say how it comes out otherwise."""
    cell = SHOWN.replace(CODE, f"# It is so.\n{code}").replace("# 16.0", output)
    found = [one for one in proof(folder, cell).problems if "does not print what its cell shows" in one.message]
    for one in found:
        assert one.message.startswith("the documented example S2-01 ")
        assert one.path.read_text().splitlines()[one.line - 1] == "# %% documented S2-01"
    return [one.details for one in found]


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("square(double(FACTOR))", "# 16.0"),
        ("square(double(FACTOR))", "# another\n\n# today\n# 16.0"),
        ("print(jnp.arange(20))", "# [ 0  1 ...\n# 18 19]"),
        ("print('a')\nx = 1  # the value of no other line is shown\nx\ny = None\ny", "# a"),
        ("print('a')\n2", "# a\n#\n# 2"),
        ("jax.jit(lambda x: jax.debug.print('{x}', x=x))(3.0)", "# 3.0"),
        (
            "try:\n    1 + jnp.ones(2)[None, 0, 0, 0]\nexcept IndexError as error:\n    print('IndexError')",
            "# IndexError",
        ),
        ("import inspect\n\n\ndef f(): ...\n\n\nprint(inspect.getsource(f))", "# def f(): ..."),
    ],
)
def test_one_that_prints_what_it_shows_is_no_problem(tiny: Path, code: str, output: str) -> None:
    assert problems(tiny, code, output) == []


@pytest.mark.parametrize(
    ("code", "output", "got", "expected"),
    [
        ("double(3)", "# 7", "6\n", "7"),
        ("double(3)", "# 6\n\n# today\n# 7", "6\n", "7"),
        ("x = 1", "# 1", "nothing", "1"),
        ("print(1)\n1 / 0", "# 1", "ZeroDivisionError: division by zero\n", "1"),
    ],
)
def test_one_that_does_not_is_told_at_its_marker(tiny: Path, code: str, output: str, got: str, expected: str) -> None:
    assert problems(tiny, code, output) == [(f"Got: {got}", f"Expected: {expected}")]


TWICE = f"{SHOWN}\n{SHOWN.replace('S2-01', 'S2-01 S2-04')}"


@pytest.mark.parametrize(
    ("cell", "said"),
    [(SHOWN, ["S2-04 by 0"]), (TWICE, ["S2-01 by 2"]), (SHOWN.replace("S2-01", "S2-01 S2-04"), [])],
)
def test_each_example_of_a_lesson_needs_one_cell(tiny: Path, cell: str, said: list[str]) -> None:
    words = r"(\S+) must be named by one cell `# %% documented \1` below `double`, but is (by \d)"
    found = [re.fullmatch(words, one.message) for one in proof(tiny, cell).advice]
    assert [" ".join(match.groups()) for match in found if match] == said
