"""Test what a lesson shows apart from results: its first card, problems, progress, and the cases of checks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kernel import run_in_kernel

from jaxguide import lesson
from jaxguide.course.books.first_cells import INSTALL_CELL
from jaxguide.course.books.library import students_course
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.judge import Judging
from jaxguide.course.progress import ExerciseProgress, Progress
from jaxguide.student.standing import Position, badge_of, standing_card

LESSON = "random_numbers"
RIGHT = """
import jax
def draw_three_ways(way, key, n):
    if way == "all at once":
        return jax.random.normal(key, (n,))
    keys = jax.random.split(key, n)
    if way == "vectorized":
        return jax.vmap(jax.random.normal)(keys)
    return jax.numpy.stack([jax.random.normal(one) for one in keys])

"""
WRONG = """
import jax
def two_samples(key, n, m):
    return jax.random.normal(key, (n,)), jax.random.normal(key, (m,))
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    return tmp_path


def names_of(source: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(source, names)
    return names


def python(source: str, folder: Path, *options: str, **env: str) -> str:
    """Run lines in plain Python (from stdin if `options` are given), and return what it prints."""
    kept = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "JAXGUIDE_WORKSPACE")}
    command = [sys.executable, *(options or ("-c", source))]
    done = subprocess.run(
        command, input=source if options else None, cwd=folder, env={**kept, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def counted(core: int, more: int = 0) -> str:
    """Return how the lesson counts what is done, in its core and beyond it."""
    beyond = [one.is_more for one in students_course().books[LESSON].exercises]
    return f"{core} of {beyond.count(False)} core exercises done · {more} of {beyond.count(True)} more beyond it"


START = f"from jaxguide.lesson import start\nstart({LESSON!r})\n"


def test_a_lesson_starts_with_progress_what_is_next_versions_and_device(tmp_path: Path) -> None:
    import jax

    exercises = students_course().books[LESSON].exercises
    head, done, following, versions = python(START, tmp_path, JAX_PLATFORMS="cpu").splitlines()
    assert head.endswith(f"({LESSON})")
    assert done.startswith(f"  {counted(0)} · 0 of ")
    assert following.startswith(f"  Next: {exercises[0].title} (`{exercises[0].name}`).")
    assert versions.strip() == f"Python {sys.version.split()[0]}, jax {jax.__version__}, 1 cpu"
    Progress(tmp_path).update("two_samples", passed=True)
    assert f"{counted(1)} · 2 of " in python(START, tmp_path, JAX_PLATFORMS="cpu")


@pytest.mark.parametrize(
    ("before", "env", "said"),
    [
        ("", {"JAX_THREEFRY_PARTITIONABLE": "0", "JAX_PLATFORMS": "cpu"}, ["random numbers differ", "Unset JAX_THREE"]),
        pytest.param(
            "", {"JAX_PLATFORMS": "none_such"}, ["JAX cannot start", "Unset JAX_PLATFORMS"], marks=pytest.mark.long
        ),
        pytest.param(
            "open('jaxguide-progress.json', 'w').write('[')\n",
            {},
            ["Your progress could not be read"],
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_is_wrong_is_said_on_the_first_card_with_what_to_do(
    tmp_path: Path, before: str, env: dict[str, str], said: list[str]
) -> None:
    shown = " ".join(python(before + START, tmp_path, **env).partition("! Problem")[2].split())
    assert [words for words in said if words not in shown] == []


@pytest.mark.long
def test_a_cell_that_started_jax_before_the_lesson_is_said_each_time(tmp_path: Path) -> None:
    from importlib.metadata import version

    from jaxguide import compat

    if compat.print_flag(version("jaxlib")) is None:
        pytest.skip("this jaxlib needs no flag")
    said = python(f"import jax\njax.devices()\n{START}{START}", tmp_path, JAX_PLATFORMS="cpu")
    assert said.count("JAX had started before this cell") == 2
    assert said.count("and run this cell before any other") == 2


def test_the_progress_tells_exercises_points_hints_and_what_is_next(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson._check("draw_three_ways", names_of(RIGHT))
    lesson._check("two_samples", names_of(WRONG))
    lesson.hint("two_samples")
    capsys.readouterr()
    lesson.progress(LESSON)
    said = " ".join(capsys.readouterr().out.split())
    book = students_course().books[LESSON]
    points = sum(exercise.points for exercise in book.exercises)
    assert f"{counted(1)} · 2 of {points:g} points · 1 hint read" in said
    assert "✓ done Three ways to n numbers (`draw_three_ways`) · " in said
    assert "◐ tried Two independent samples (`two_samples`) · 2 points · 1 hint " in said
    assert said.count("○ new") == len(book.exercises) - 2
    parts = {exercise.headings[0]: exercise for exercise in reversed(book.exercises)}
    assert len(parts) > 1
    for heading, first in parts.items():
        assert re.search(f"{re.escape(heading)} . \\w+ {re.escape(first.title)} ", said), "a part heads its exercises"
    assert "Next: Two independent samples (`two_samples`). " in said


def test_a_wrong_guess_and_hints_read_are_told_apart_from_done_and_new(tmp_path: Path) -> None:
    exercise = students_course().exercise("predict_shape_inside")
    for guess, word in (("(5,)", "done"), ("(9, 9)", "guessed")):
        progress = Progress(tmp_path, word)
        answer = LocalAnswer(
            "predict_shape_inside", names_of(f"def predict_shape_inside(): return {guess}")["predict_shape_inside"], {}
        )
        progress.note(Judging(exercise).judge(answer), "1")
        again = LocalAnswer("predict_shape_inside", lambda: (5,), {})
        progress.note(Judging(exercise).judge(again), "2")
        assert badge_of(progress.of("predict_shape_inside")).word == word, guess
    assert badge_of(ExerciseProgress(passed=True, guess="3")).word == "done", "of earlier versions, it is not known"
    assert badge_of(ExerciseProgress(hints=1)).word == "begun"
    assert badge_of(ExerciseProgress(hints=1, attempts=["a"])).word == "tried"
    assert badge_of(ExerciseProgress()).word == "new"


def place_of(folder: Path, *passed: str, last: str = "") -> Position:
    progress = Progress(folder, f"{last}-{len(passed)}")
    for name in passed:
        progress.update(name, passed=True)
    if last:
        progress.move_to(last)
    return Position(students_course(), progress)


def test_what_is_next_is_behind_the_last_exercise_and_what_is_open_before_it_is_said(tmp_path: Path) -> None:
    book = students_course().books[LESSON]
    first, second, third, *rest = [exercise.name for exercise in book.exercises]

    def said(*passed: str, last: str = "") -> str:
        place = place_of(tmp_path, *passed, last=last)
        return place.next_step(book)

    assert f"(`{first}`)" in said()
    assert f"(`{second}`). 1 earlier exercise is not done: `{first}`." in said(last=second)
    assert f"(`{third}`). 1 earlier exercise is not done: " in said(second, last=second)
    assert f"(`{rest[0]}`). 2 earlier exercises are not done; the first is `{first}`." in said(third, last=third)
    assert said(first, second, last=first).endswith(f"(`{third}`).")
    following = "Next lesson: Random depth (`random_depth`)."
    assert said(first, second, third, *rest) == following
    assert said(second, third, *rest, last=third).startswith(f"{following} 1 earlier exercise is not done: ")
    everything = students_course().exercises
    assert said(*everything) == f"All {len(everything)} exercises are done."


def test_the_bar_is_full_only_when_all_is_done_and_empty_only_when_nothing_is(tmp_path: Path) -> None:
    book = students_course().books[LESSON]
    names = [exercise.name for exercise in book.exercises if not exercise.is_more]
    cards = [standing_card(place_of(tmp_path, *names[:n]), book) for n in (0, 1, len(names) - 1, len(names))]
    empty, begun, nearly, full = (card.text().splitlines()[1][:22].count("█") for card in cards)
    assert 0 == empty < begun < nearly < full == 20
    for count, card in zip((0, 1, len(names) - 1, len(names)), cards, strict=True):
        assert f"width:{100 * count / len(names):.0f}%" in card.html()
        assert f"{count} of {len(names)} core exercises done" in card.html(), (
            "the words must say all that the bar shows"
        )


@pytest.mark.long
def test_without_a_name_the_progress_is_of_the_lesson_that_was_started(tmp_path: Path) -> None:
    shown = python(
        "from jaxguide.lesson import progress, start\nprogress()\nstart('callbacks')\nprogress()",
        tmp_path,
        JAX_PLATFORMS="cpu",
    )
    first, second = students_course().books["arrays_and_layers"], students_course().books["callbacks"]
    assert shown.startswith(f"{first.title} (arrays_and_layers)\n")
    assert f"\n{second.title} (callbacks)\n" in shown


def test_an_unknown_lesson_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    lesson.progress("random_number")
    assert capsys.readouterr().out == "There is no lesson `random_number`. Did you mean `random_numbers`?\n"


def test_verbose_lists_the_cases_of_every_check_that_ran(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson._check("draw_three_ways", names_of(RIGHT))
    short = capsys.readouterr().out
    assert "→" not in short
    lesson._check("draw_three_ways", names_of(RIGHT), verbose=True)
    said = " ".join(capsys.readouterr().out.split())
    for check in students_course().exercise("draw_three_ways").checks:
        assert " ".join(check.fact.split()) in said
    assert "draw_three_ways('individually', jax.random.wrap_key_data(jnp.array(" in said
    assert "the program of draw_three_ways(" in said
    assert ", 3) → jnp.array([" in said
    assert "· draw_three_ways('individually', jax.random.wrap_key_data(" in said, "there must be a dot before each case"
    assert len(Progress(workspace).of("draw_three_ways").attempts) == 1, "the same code must count as one attempt"


def test_verbose_says_what_a_case_raised_and_judges_the_same(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson._check("two_samples", names_of("def two_samples(key, n, m): raise ValueError('no')"), verbose=True)
    said = capsys.readouterr().out
    assert "Your code raised an error" in said
    assert "raised ValueError" in " ".join(said.split())
    assert "not checked" in said


@pytest.mark.long
def test_a_plain_python_shell_shows_text(tmp_path: Path) -> None:
    typed = (
        f"from jaxguide.lesson import *\nfrom jaxguide.lesson import check, hint, progress, solution, start\n{RIGHT}"
    )
    typed += "\ncheck(draw_three_ways)\nhint('two_samples')\nsolution(draw_three_ways)\nprogress('random_numbers')\n"
    shown = python(typed, tmp_path, "-i", "-q", JAX_PLATFORMS="cpu")
    assert "✓ Right so far: Three ways to n numbers (draw_three_ways)" in shown
    assert "Hint 1 of" in shown
    assert "A solution" in shown
    assert counted(1) in shown
    assert "<" not in shown.replace("<stdin>", ""), "there must be no HTML"


@pytest.mark.long
def test_a_notebook_gets_the_progress_as_a_card_after_a_restart(workspace: Path) -> None:
    setup = f"from jaxguide.lesson import check, hint, progress, solution, start\n{START}"
    run_in_kernel([setup, RIGHT + "check(draw_three_ways)"])
    shown = run_in_kernel([setup, "progress()"])
    assert counted(1) in shown[0]
    assert "✓ done Three ways to n numbers (`draw_three_ways`)" in " ".join(shown[1].split())
    assert (
        json.loads((workspace / ".jaxguide/progress.json").read_text())["exercises"]["draw_three_ways"]["passed"]
        is True
    )


def test_the_install_cell_does_nothing_where_the_package_is(capfd: pytest.CaptureFixture[str]) -> None:
    started: list[object] = []
    names = {"__builtins__": __builtins__}
    exec(INSTALL_CELL.replace("subprocess.run(", "started.append("), {**names, "started": started})
    assert started == []
    assert capfd.readouterr() == ("", "")


def test_the_install_cell_installs_where_the_package_is_missing(tmp_path: Path) -> None:
    # A fake pip replaces the real one, which would download from the index.
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("")
    pip = "import pathlib, sys\nhere = pathlib.Path(__file__).parents[1]\n"
    pip += "(here / 'jaxguide.py').write_text(f'arguments = {sys.argv[1:]!r}')\n"
    (tmp_path / "pip" / "__main__.py").write_text(pip)
    source = f"{INSTALL_CELL}\nimport jaxguide; print(jaxguide.arguments)"
    # Without `site`, Python finds only the packages in this folder.
    shown = python(source, tmp_path, "-S", "-c", source, PYTHONPATH=str(tmp_path))
    assert shown == "['install', '--quiet', 'jaxguide']\n"
