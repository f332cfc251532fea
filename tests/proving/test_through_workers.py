"""Test that planted answers get the same verdicts through workers as in this process, and that differences are told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_course import edit

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.verdict import Verdict
from jaxguide.proving.proof import Proof, ProofSettings
from jaxguide.proving.prover import prove_exercise
from jaxguide.proving.through_workers import prove_through_workers, submissions

KEY = "solutions/tiny.py"
# Only workers live in such a folder.
IN_A_WORKER = '"jaxguide-grader-" in __import__("os").environ["HOME"]'


def proven_here(course: Course, lesson: str) -> Proof:
    """Judge the planted answers of a lesson in this process, with the inputs that graders draw."""
    settings, proof = ProofSettings.of_course(course, seeds=1), Proof()
    for exercise in course.books[lesson].exercises:
        proof.add(prove_exercise(course.books[lesson], exercise, settings))
    assert proof.problems == []
    return proof


def test_submissions_have_each_planted_answer_once(tiny: Path) -> None:
    course = load_course(tiny)
    proof = proven_here(course, "tiny")
    found = [answers for _book, answers in submissions(course, course.exercises.values(), proof.verdicts)]
    names = [[(one.exercise.name, one.planted.name) for one in answers] for answers in found]
    assert names == [
        [("double", "double"), ("guess_shape", "guess_shape")],
        [("double", "jitted"), ("guess_shape", "starter")],
        [("double", "a_lambda")],
        [("double", "squares")],
        [("double", "numpy_inside")],
        [("double", "reworded starter")],
        [("double", "starter")],
    ]
    assert found[0][0].here.verdict is Verdict.PASSED
    assert found[-1][0].here.verdict is Verdict.NOT_ATTEMPTED


@pytest.mark.long
def test_what_is_proven_is_graded_the_same(tiny: Path) -> None:
    course = load_course(tiny)
    exercises = list(course.exercises.values())
    told: list[tuple[int, int]] = []
    found = prove_through_workers(
        course, exercises, proven_here(course, "tiny").verdicts, tell=lambda *numbers: told.append(numbers)
    )
    assert (found.problems, found.answers, told) == ([], 9, [(number, 7) for number in range(1, 8)])
    assert found.cpu_s > 0


@pytest.mark.long
def test_a_verdict_that_differs_is_told_with_answer_check_and_both_verdicts(tiny: Path) -> None:
    key = edit(tiny, KEY, "    return 2 * x\n", f"    return 2 * x if not {IN_A_WORKER} else 3 * x\n")
    edit(tiny, KEY, "    return x * x\n", f"    return x * x if not {IN_A_WORKER} else 2 * x\n")
    course = load_course(tiny)
    problems = prove_through_workers(course, course.exercises.values(), proven_here(course, "tiny").verdicts).problems
    assert [(problem.path, problem.message) for problem in problems] == [
        (
            key,
            f"{what} is judged differently by the check `twice_the_input`: {here} in this process, {there} in a worker",
        )
        for what, here, there in (
            ("the key's answer", "passed", "failed"),
            ("the wrong answer `squares`", "failed", "passed"),
        )
    ]
    assert {line.partition(":")[0] for line in problems[0].details} >= {"Call", "Got", "Expected"}


@pytest.mark.long
def test_answers_that_define_the_same_helper_are_graded_alone(tiny: Path) -> None:
    """One exercise's helper in a notebook replaces that of another: this is no difference of the answers."""
    book = tiny / "exercises" / "tiny.py"
    cells = book.read_text()
    more = cells[
        cells.index('# %% exercise\n@exercise(\n    title="Double') : cells.index("# %% exercise\n@prediction")
    ]
    book.write_text(cells + "\n" + more.replace("double", "quadruple").replace("FACTOR * x", "4 * x"))
    edit(tiny, KEY, "@answer\ndef double(x):\n    return 2 * x\n", _HELPED.format(name="double", factor=2))
    key = (tiny / KEY).read_text()
    more = key[key.index("# %% double") : key.index("# %% guess_shape")]
    more = more.replace("factor = 2", "factor = 4").replace("double", "quadruple").replace("2 * x", "4 * x")
    (tiny / KEY).write_text(key + "\n" + more.replace("x + x", "4 * x").replace("np.float32(2)", "np.float32(4)"))
    course = load_course(tiny)
    found = prove_through_workers(course, course.exercises.values(), proven_here(course, "tiny").verdicts)
    assert (found.problems, found.answers) == ([], 16)


_HELPED = (
    "def helper(x):\n    factor = {factor}\n    return factor * x\n\n\n@answer\ndef {name}(x):\n    return helper(x)\n"
)


@pytest.mark.long
@pytest.mark.parametrize("option", ["--workers", "--no-workers"])
def test_the_command_ends_with_workers_and_says_if_it_does_not(tiny: Path, option: str) -> None:
    edit(tiny, KEY, "    return x * x\n", f"    return x * x if not {IN_A_WORKER} else 2 * x\n")
    command = [sys.executable, "-m", "jaxguide"]
    subprocess.run([*command, "print", "--course", str(tiny)], check=True, capture_output=True)
    done = subprocess.run([*command, "verify", "--course", str(tiny), option], capture_output=True, text=True)
    if option == "--workers":
        assert (done.returncode, "failed in this process, passed in a worker" in done.stderr) == (1, True), done
        assert "through workers: 9 answers graded in" in done.stdout
    else:
        assert (done.returncode, done.stderr.strip()) == (0, "")
        assert "not graded through workers (--no-workers), so `grade` may give other verdicts" in done.stdout
    done = subprocess.run([*command, "verify", "--course", str(tiny), option, "--json"], capture_output=True, text=True)
    graded = json.loads(done.stdout)["workers"]
    assert (graded and graded["answers"]) == (9 if option == "--workers" else None)


@pytest.mark.long
def test_settings_of_the_course_hold_for_both(set_up_course: Path) -> None:
    command = [sys.executable, "-m", "jaxguide", "verify", "--course", str(set_up_course), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    plain = json.loads(done.stdout)
    assert (plain["workers"]["answers"], plain["problems"]) == (5, [])
