"""Test that starters in other words, and answers that miss the point of their exercise, keep no points."""

import ast
from pathlib import Path

import pytest
from tiny_course import beyond_texts, edit

from jaxguide.code.sameness import is_starter
from jaxguide.course.books.library import load_course
from jaxguide.proving.course_problems import kept_problems
from jaxguide.proving.proof import Proof, ProofSettings
from jaxguide.proving.prover import prove_exercise
from jaxguide.proving.rewording import reworded, reworded_starter

BOOK, KEY = "exercises/tiny.py", "solutions/tiny.py"
# A starter that has the right values, but not under jit, which is the point.
RUNS = "    doubled = np.asarray(x) * np.float32(2)\n    return jnp.asarray(doubled)\n"
MISSES = '@wrong(rejected_by="works_under_jit", says="NumPy cannot be traced."'


def proven(folder: Path) -> Proof:
    course = load_course(folder)
    exercise = course.exercise("double")
    return prove_exercise(course.book_of(exercise), exercise, ProofSettings(1))


def told(proof: Proof) -> list[str]:
    return beyond_texts([one.message for one in (*proof.problems, *proof.notes, *proof.advice)])


@pytest.fixture
def pointed(tiny: Path) -> Path:
    """Return the course with a starter, and a wrong answer, that miss the point."""
    edit(tiny, BOOK, "    ...\n", RUNS)
    edit(tiny, KEY, MISSES, f"{MISSES}, misses_the_point=True")
    edit(tiny, KEY, 'idea="Any input."', 'idea="Any input.", on="four numbers"')
    return tiny


def test_points_that_a_reworded_starter_and_a_wrong_answer_keep_are_told_with_the_checks(pointed: Path) -> None:
    edit(pointed, BOOK, "points=2,", "points=2, keeps=0.1, why_keeps='Values count.',")
    starter, wrong = told(proven(pointed))[:2]
    kept = "1.5 of 2 points by `twice_the_input`, `matches_the_key`"
    assert starter.startswith(f"the starter of `double`, reworded, keeps {kept}; mark")
    assert wrong.startswith(f"the wrong answer `numpy_inside` misses the point, but keeps {kept}; mark")


@pytest.mark.parametrize("said_by", ["the check", "the answer that misses the point"])
def test_nothing_is_kept_where_the_point_is_required(pointed: Path, said_by: str) -> None:
    if said_by == "the check":
        edit(pointed, BOOK, '@visible(double, stage="jit"', '@visible(double, stage="jit", required=True')
    proof = proven(pointed)
    assert told(proof) == []
    assert [(one.answer, one.kept, one.points) for one in proof.kept] == [("squares", 0, 2), ("numpy_inside", 0, 2)]


def test_points_are_kept_where_the_exercise_says_why(pointed: Path) -> None:
    edit(pointed, BOOK, "    points=2,\n", "    points=2,\n    keeps=0.3,\n    why_keeps='Values count.',\n")
    edit(pointed, KEY, "weight=2)", "weight=0.1)")
    edit(pointed, BOOK, 'stage="jit"', 'stage="jit", weight=9')
    proof = proven(pointed)
    assert [said for said in told(proof) if "starter" not in said] == [
        "an answer that misses the point of `double` may keep 30% of the points: Values count."
    ]
    (problem,) = kept_problems(load_course(pointed), Proof(kept=proof.kept[1:]))
    assert "keep 11% of the points of the whole course; at most 10% is allowed" in problem.message


def test_each_exercise_needs_an_answer_that_misses_the_point(tiny: Path) -> None:
    edit(tiny, KEY, ", misses_the_point=True", "")
    (said,) = [one for one in told(proven(tiny)) if "on what kind" not in one]
    assert "has no planted wrong answer that misses the point" in said


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    '''Words.'''\n    y = x + 1\n    return y * y",
        "@jax.jit\ndef f(y):\n    def g(x):\n        z = x\n        return z\n    return g(y)",
        "def f(xs):\n    total = 0\n    for x in xs:\n        total += x\n    return total",
        "def f(x):\n    import math\n    x = math.sqrt(x)\n    return x",
        "def f(x):\n    ...",
    ],
)
def test_other_words_do_the_same_and_are_not_the_starter(source: str) -> None:
    said = reworded(source, "f")
    assert ast.unparse(ast.parse(source)) not in said
    names: tuple[dict[str, object], ...] = ({}, {})
    for text, name in zip((source, said), names, strict=True):
        exec(text.replace("@jax.jit\n", ""), name)
    argument = [1, 2, 3] if "xs" in source else 4.0
    assert names[0]["f"](argument) == names[1]["f"](argument)  # type: ignore[operator]


def test_the_reworded_starter_is_judged_as_an_attempt(pointed: Path) -> None:
    exercise = load_course(pointed).exercise("double")
    planted = reworded_starter(exercise)
    assert "doubled_ = np.asarray(x)" in planted.source
    assert not is_starter(planted.source, exercise)
