"""Test that planted wrong answers run in a worker of their own, once for each input, and are named where they fit."""

import gc
from pathlib import Path

import pytest
from tiny_course import edit

from jaxguide.course.books.library import load_course
from jaxguide.course.verdict import CheckResult
from jaxguide.grading.batch.grader import Grader, GradeSettings, open_grader
from jaxguide.grading.batch.planted_answers import PlantedWorkers
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.workers.worker_process import WorkerProcess

SAYS = ("Squares instead of doubling.",)


def grade(grader: Grader, source: str) -> SubmissionResult:
    return grader.grade(Entry(Path("ada.py"), f"import jax.numpy as jnp\n\n{source}\n".encode()))


def failure(result: SubmissionResult) -> CheckResult:
    found = next(one for one in result.results if one.name == "double").first_failure
    assert found is not None
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the planted answers that were asked in a worker, once for each request."""
    found: list[str] = []
    ready = PlantedWorkers._ready

    def noted(self: PlantedWorkers, exercise: object, planted: object) -> WorkerProcess:
        found.append(planted.name)  # type: ignore[attr-defined]
        return ready(self, exercise, planted)  # type: ignore[arg-type]

    monkeypatch.setattr(PlantedWorkers, "_ready", noted)
    return found


def test_only_an_answer_that_behaves_like_a_planted_one_is_said_to(tiny: Path, asked: list[str]) -> None:
    with open_grader(load_course(tiny), GradeSettings(compile_cache=tiny / "cache")) as grader:
        for source, says in (
            ("def double(x):\n    return x**2", SAYS),
            ("def double(x):\n    return 3 * x", ()),
            ("def double(x):\n    return jnp.square(x)", SAYS),
        ):
            assert failure(grade(grader, source)).says == says
        assert asked == ["squares"]
    with open_grader(load_course(tiny), GradeSettings(compile_cache=tiny / "cache")) as grader:
        assert failure(grade(grader, "def double(x):\n    return x * x * 1")).says == SAYS
    assert asked == ["squares"]


def test_right_answers_ask_no_planted_ones(tiny: Path, asked: list[str]) -> None:
    with open_grader(load_course(tiny), GradeSettings(compile_cache=tiny / "cache")) as grader:
        grade(grader, "def double(x):\n    return x + x")
    assert asked == []


def test_a_planted_answer_never_meets_a_submission(tiny: Path) -> None:
    edit(
        tiny, "solutions/tiny.py", "    return x * x", "    import builtins\n    builtins.planted = 1\n    return x * x"
    )
    source = "def double(x):\n    import builtins\n    return x * x if not hasattr(builtins, 'planted') else 2 * x"
    grader = Grader(load_course(tiny), GradeSettings())
    workers = set()
    for _time in range(2):
        result = grade(grader, source)
        assert failure(result).says == SAYS
        workers.add(id(grader._planted._worker))  # type: ignore[union-attr]
    assert len(workers) == 1
    grader.close()
    assert not grader._planted._worker.is_alive  # type: ignore[union-attr]


@pytest.mark.parametrize("body", ["import os\n    os._exit(3)", "1 / 0\n    return x", "raise SystemExit"])
def test_a_planted_answer_that_ends_its_worker_costs_no_one_a_mark(tiny: Path, body: str) -> None:
    edit(tiny, "solutions/tiny.py", "    return x * x", f"    {body}")
    grader = Grader(load_course(tiny), GradeSettings())
    result = grade(grader, "def double(x):\n    return x * x")
    assert (failure(result).says, result.not_graded, result.score) == ((), {}, 0)
    grader.close()


def test_a_grader_that_is_not_closed_leaves_no_worker(tiny: Path) -> None:
    grader = Grader(load_course(tiny), GradeSettings())
    grade(grader, "def double(x):\n    return x * x")
    worker = grader._planted._worker  # type: ignore[union-attr]
    assert worker is not None
    assert worker.is_alive
    del grader
    gc.collect()
    assert not worker.is_alive
