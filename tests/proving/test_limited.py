"""Test that a planted answer that never ends is told with its line and the limit, and that the proof goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_course import edit

from jaxguide.course.books.library import load_course
from jaxguide.course.limits import Limits
from jaxguide.proving import limited
from jaxguide.proving.proof import Problem, Proof, ProofSettings
from jaxguide.proving.prove_in_parallel import prove
from jaxguide.proving.prover import prove_exercise

KEY = "solutions/tiny.py"
SQUARES = "    return x * x\n"
FOREVER = "    while True:\n        pass\n"
SLEEPS = "    import time\n\n    time.sleep(1000)\n"
COMPILED = "    return jax.lax.while_loop(lambda y: (y < 9).any(), lambda y: jnp.sin(y + 1), x)\n"
CATCHES = """\
    import time

    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            time.sleep(0.01)
        except BaseException:
            pass
"""


def proven(folder: Path, limits: Limits) -> Proof:
    course = load_course(folder)
    exercise = course.exercise("double")
    return prove_exercise(course.book_of(exercise), exercise, ProofSettings(1, limits))


def line_of(path: Path, text: str) -> int:
    return 1 + next(number for number, line in enumerate(path.read_text().splitlines()) if text in line)


@pytest.mark.parametrize(
    ("body", "words"),
    [(FOREVER, "0.4 seconds of computing, the limit `cpu`"), (SLEEPS, "0.5 seconds of waiting, the limit `idle`")],
    ids=["it computes", "it waits"],
)
def test_a_wrong_answer_that_never_ends_is_told_and_the_others_are_proven(tiny: Path, body: str, words: str) -> None:
    key = edit(tiny, KEY, SQUARES, body)
    proof = proven(tiny, Limits(cpu_s=0.4, idle_s=0.5))
    (problem,) = proof.problems
    assert (problem.path, problem.line) == (key, line_of(key, 'rejected_by="twice_the_input"'))
    assert problem.message == (
        f"the wrong answer `squares` ran too long at the check `twice_the_input`: it was stopped after {words}"
    )
    assert problem.details[0].startswith("Call: double(")
    assert ("double", "numpy_inside") in proof.verdicts


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "words"),
    [("    return 2 * x\n", "the key's answer"), ("    return x + x\n", "the right answer `jitted`")],
)
def test_right_answers_have_the_same_limits(tiny: Path, old: str, words: str) -> None:
    edit(tiny, KEY, old, FOREVER)
    problem, *_others = proven(tiny, Limits(cpu_s=0.4)).problems
    assert problem.message.startswith(f"{words} ran too long at the check `twice_the_input`")


@pytest.mark.long
def test_code_that_goes_on_after_the_interruption_is_told_from_another_thread(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited, "GRACE_S", 0.5)
    edit(tiny, KEY, SQUARES, CATCHES + SQUARES)
    course = load_course(tiny)
    exercise = course.exercise("double")
    told: list[Problem] = []
    settings = ProofSettings(1, Limits(idle_s=0.3))
    proof = prove_exercise(course.book_of(exercise), exercise, settings, told.append)
    (problem,) = told
    assert problem.message == (
        "the wrong answer `squares` does not end: it was stopped after 0.3 seconds of waiting, the limit `idle`, but "
        "could not be interrupted"
    )
    assert "ran too long" in proof.problems[0].message


@pytest.mark.long
def test_a_compiled_loop_ends_its_process_and_no_other_exercise_is_lost(tiny: Path) -> None:
    key = edit(tiny, KEY, SQUARES, COMPILED)
    (tiny / "course.toml").write_text('[limits]\ncpu = "1s"\n')
    course = load_course(tiny)
    found = list(prove(course, list(course.exercises.values()), jobs=2))
    assert [exercise.name for exercise, _proof in found] == ["double", "guess_shape"]
    (problem,) = found[-1][1].problems
    assert (problem.path, problem.line) == (key, line_of(key, 'rejected_by="twice_the_input"'))
    assert "does not end: it was stopped after 1 seconds of computing, the limit `cpu`" in problem.message
    assert ("guess_shape", "guess_shape") in found[-1][1].verdicts


@pytest.mark.long
def test_a_compiled_loop_ends_a_proof_in_one_process_with_its_problem(tiny: Path) -> None:
    edit(tiny, KEY, SQUARES, COMPILED)
    (tiny / "course.toml").write_text('[limits]\ncpu = "1s"\n')
    command = [sys.executable, "-m", "jaxguide", "verify", "--jobs", "1", "--course", str(tiny), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, "`squares` does not end" in problem["message"]) == (1, True), done.stderr
