"""Test that the three versions of the benchmark's assignment ask for the same."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from needs import ON_THE_NEWEST

from jaxguide.course.books.handout import for_students, stale_files
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.exercise import Exercise

FOLDER = Path(__file__).parents[2] / "benchmarks" / "grading"


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(FOLDER / "course")


@pytest.fixture(scope="module")
def exercises(course: Course) -> dict[str, Exercise]:
    return course.exercises


@pytest.fixture
def assignment(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import assignment

    return assignment


def failed_tests(assignment, name: str, source: str) -> list[int]:
    """Return which of a peer's two tests an answer fails."""
    scope: dict[str, object] = {}
    exec(f"{assignment.IMPORTS}\n{source}", scope)
    failed = []
    for place, test in enumerate(assignment.TESTS[name]):
        try:
            exec(test, scope)
        except Exception:
            failed.append(place)
    return failed


def test_its_notebook_is_printed(course):
    assert stale_files(for_students(course), course.folders.notebooks) == []


@ON_THE_NEWEST
def test_the_course_is_proven():
    command = [sys.executable, "-m", "jaxguide", "verify", "--course", str(FOLDER / "course")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_versions_have_the_same_exercises(assignment, exercises):
    assert list(assignment.TESTS) == list(assignment.ANSWERS) == list(exercises)
    assert all(len(one.checks) == len(one.key.hidden) == 1 for one in exercises.values())


@ON_THE_NEWEST
def test_right_answers_pass_the_tests_of_the_peers(assignment, exercises):
    for name, exercise in exercises.items():
        assert failed_tests(assignment, name, exercise.key.answer.source) == []
        assert failed_tests(assignment, name, assignment.ANSWERS[name]) == []


@ON_THE_NEWEST
def test_each_planted_answer_fails_the_test_in_the_place_of_its_check(assignment, exercises):
    for name, exercise in exercises.items():
        checks = [exercise.checks[0].name, exercise.key.hidden[0].name]
        for wrong in exercise.key.wrong:
            failed = failed_tests(assignment, name, wrong.source)
            assert failed, wrong.name
            assert failed[0] == checks.index(wrong.rejected_by), wrong.name


def test_submissions_differ_between_graders_in_what_surrounds_the_answers_alone(assignment):
    import layouts

    for kind in (assignment.well_behaved(1), *assignment.bad_kinds()):
        if kind.is_truncated:
            continue
        for grader in ("jaxguide", "otter", "nbgrader"):
            sources = [cell["source"] for cell in json.loads(layouts.notebook(kind, grader))["cells"]]
            assert [one for one in sources if one in dict.fromkeys(s for _n, s in kind.cells)] == [
                source for _name, source in kind.cells
            ]


def test_jax_alone_is_run_on_inputs_of_the_tests_shapes(assignment):
    import bare

    for name, source in assignment.ANSWERS.items():
        scope: dict[str, object] = {}
        exec(f"{assignment.IMPORTS}\n{source}", scope)
        answer, shapes = scope[name], []

        def recorded(*args, answer=answer, shapes=shapes):
            shapes.append(tuple(one.shape for one in args))
            return answer(*args)

        scope[name] = recorded
        for test in assignment.TESTS[name]:
            exec(test, scope)
        assert bare.SHAPES[name] == tuple(shapes)
    assert list(bare.SHAPES) == list(assignment.ANSWERS)


@ON_THE_NEWEST
def test_jax_alone_compiles_the_answers_loops_itself(assignment):
    done = subprocess.run(
        [sys.executable, FOLDER / "bare.py", "--times", "1"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "JAX's own programs kept",
        "all programs kept",
    ]
