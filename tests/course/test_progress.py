"""Test what is recorded of a student's progress, and that files of earlier versions are read."""

import json
from pathlib import Path

import pytest

from jaxguide.course.progress import Progress, read_progress
from jaxguide.course.verdict import ExerciseResult, Verdict


def _result(verdict: Verdict) -> ExerciseResult:
    return ExerciseResult("walk", "A walk", "random_numbers", 1.0, verdict, 0.0)


def test_the_first_check_is_noted_once(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.note(_result(Verdict.NOT_ATTEMPTED), "a")
    assert progress.of("walk").started_s is None
    progress.note(_result(Verdict.FAILED), "a")
    failed = progress.of("walk")
    assert failed.started_s is not None
    progress.update("walk", started_s=failed.started_s - 240)
    progress.note(_result(Verdict.PASSED), "b")
    assert progress.of("walk").started_s == failed.started_s - 240


@pytest.mark.parametrize("times", [{}, {"started_s": 0, "passed_s": 240}])
def test_progress_files_of_earlier_versions_are_read(times: dict[str, int]) -> None:
    old = {"version": 1, "exercises": {"walk": {"passed": True, "attempts": ["a"], "hints": 2, "guess": None, **times}}}
    walk = read_progress(json.dumps(old).encode())["walk"]
    assert (walk.passed, walk.hints, walk.started_s) == (True, 2, times.get("started_s"))


@pytest.mark.parametrize(
    "entry",
    [
        '{"hints": "many"}',
        '{"attempts": 7}',
        '{"unknown": 1}',
        "[]",
        "null",
        '{"started_s": "yesterday"}',
    ],
)
def test_damaged_progress_is_set_aside(tmp_path: Path, entry: str) -> None:
    progress = Progress(tmp_path)
    progress.path.write_text(f'{{"version": 1, "exercises": {{"walk": {entry}}}}}')
    assert progress.everything() == {}
    assert progress.trouble
    assert not progress.path.exists()
