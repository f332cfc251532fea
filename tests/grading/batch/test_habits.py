"""Test the progress in a submission's folder: when it is recorded, and when it counts for the student."""

import json
from pathlib import Path

import pytest

from jaxguide.course.progress import PROGRESS_FILE_NAME, Progress, read_progress
from jaxguide.course.settings import BUNDLED
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.habits import habits_from, habits_of


def _result(verdict: Verdict) -> ExerciseResult:
    return ExerciseResult("walk", "A walk", "random_numbers", 1.0, verdict, 0.0)


def test_the_first_check_and_the_first_pass_are_noted_once(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.note(_result(Verdict.NOT_ATTEMPTED), "a")
    assert progress.of("walk").started_s is None
    progress.note(_result(Verdict.FAILED), "a")
    failed = progress.of("walk")
    assert failed.started_s is not None
    assert failed.passed_s is None
    progress.update("walk", started_s=failed.started_s - 240)
    progress.note(_result(Verdict.PASSED), "b")
    passed = progress.of("walk")
    assert passed.started_s == failed.started_s - 240
    progress.update("walk", passed_s=failed.started_s)
    progress.note(_result(Verdict.PASSED), "c")
    assert progress.of("walk").passed_s == failed.started_s
    habits = habits_from((tmp_path / PROGRESS_FILE_NAME).read_bytes())
    assert habits == {"walk": {"tries": 3, "hints": 0, "minutes": 4.0}}


def test_a_progress_file_from_before_times_were_noted_is_read() -> None:
    old = {"version": 1, "exercises": {"walk": {"passed": True, "attempts": ["a"], "hints": 2, "guess": None}}}
    assert read_progress(json.dumps(old).encode())["walk"].started_s is None
    assert habits_from(json.dumps(old).encode())["walk"] == {"tries": 1, "hints": 2, "minutes": None}


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
def test_a_damaged_progress_file_tells_nothing(entry: str) -> None:
    assert habits_from(f'{{"version": 1, "exercises": {{"walk": {entry}}}}}'.encode()) == {}


def test_a_made_up_progress_file_cannot_spoil_the_numbers() -> None:
    entry = {"hints": -5, "started_s": -1e308, "passed_s": 1e308, "attempts": ["a"] * 20_000}
    habits = habits_from(json.dumps({"version": 1, "exercises": {"walk": entry}}).encode())
    assert habits["walk"] == {"tries": 10_000, "hints": 0, "minutes": None}
    assert habits_from(b"[" * 100_000) == {}
    assert habits_from(b"\xff") == {}


def test_a_progress_file_counts_for_the_one_student_of_its_folder(tmp_path: Path) -> None:
    progress = {"version": 1, "exercises": {"walk": {"hints": 1}}}
    files = []
    for folder, student in (("ada", "ada"), ("all", "bob"), ("all", "cyn")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / PROGRESS_FILE_NAME).write_text(json.dumps(progress))
        files.append((tmp_path / folder / f"{student}.ipynb", student))
    (tmp_path / "dag").mkdir()
    (tmp_path / "dag" / PROGRESS_FILE_NAME).symlink_to(tmp_path / "ada" / PROGRESS_FILE_NAME)
    files.append((tmp_path / "dag" / "dag.ipynb", "dag"))
    assert list(habits_of(files, BUNDLED)) == [files[0][0]]
